// A version's files against its record: nothing else is there, and every byte is as it was.
//
//   std::vector<TreeEntry> entries = TRY(read_tree(directory));        // a fresh one: all is hashed
//   CheckedTree tree = TRY(check_tree(directory, record, seals));      // at each launch
//   VerifiedArtifact program = TRY(open_checked(tree, "kirocli/bin/kiro-cli-chat", path));
//
// Ownership: a CheckedTree holds each file open under a read lease, so that no writer comes between the check and the
// start (where the file system gives leases). Threads: one. Failure: Error of stage "verify" with the file's path, what
// it is and what it should be. Units: bytes, hexadecimal digits. After fork: not used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/fd.h"
#include "base/result.h"
#include "verify/seals.h"
#include "verify/tree_record.h"

namespace oncelatch::verify {

struct CheckedFile {
  Fd file;
  FileIdentity identity;
  std::string sha256;
};
struct CheckedTree {
  std::map<std::string, CheckedFile> files;
};

// Regular files and directories of the caller's with one name each; the modes become those of an installed version.
[[nodiscard]] Result<std::vector<TreeEntry>> read_tree(int directory);
// Files that `seals` knows aren't read; those that were are added to it.
[[nodiscard]] Result<CheckedTree> check_tree(int directory, const TreeRecord& record, Seals& seals);
// One of its files, with the tree's lease, as what is executed. `place`: the directory's real path.
[[nodiscard]] Result<VerifiedArtifact> open_checked(CheckedTree& tree, const std::string& path,
                                                    const std::string& place);

}  // namespace oncelatch::verify
