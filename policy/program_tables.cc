#include "policy/program_tables.h"

#include <array>

#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

// programs, sub-command, options, value letters, help
const std::vector<RiskyOptions> kRiskyOptions{
    {"find", "", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls", "", "runs, removes, writes"},
    {"fd fdfind", "", "-x -X --exec --exec-batch", "eEtdcjSo", "runs a program"},
    {"git", "<global>", "-c* -C* -p --config-env --exec-path --git-dir --work-tree --bare --paginate", kNoClusters,
     "configuration that runs programs, another repository, a pager"},
    {"git", "",
     "--upload-pack --receive-pack --exec --output --open-files-in-pager --ext-diff --textconv --extcmd "
     "--template --separate-git-dir --output-directory --config --paginate",
     "", "runs or writes"},
    {"git", "clone", "-u -c", "bojR", "transport program, configuration"},
    {"git", "grep", "-O", "efmABCD", "opens a pager"},
    {"git", "diff", "-O", "GSUCMBlX", "order file"},
    {"git", "rebase", "-x", "sXCS", "runs a program"},
    {"git", "difftool", "-x -t --tool", "", "runs a program"},
    {"git", "mergetool", "-t --tool", "", "runs a program"},
    {"git", "format-patch", "-o", "", "writes files"},
    {"git", "archive", "-o --remote", "", "writes a file, asks another host"},
    {"git", "bisect", "run", "", "runs a program"},
    {"git", "submodule", "foreach", "", "runs a program"},
    {"git", "bundle", "create", "", "writes a file"},
    {"git", "", "config filter-branch daemon send-email hook for-each-repo maintenance fast-import credential", "",
     "changes what git runs later"},
    {"tar", "",
     "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script "
     "--rsh-command --rmt-command --one-top-level",
     "fbCTXgHKLNV", "runs a program"},
    {"rsync", "", "-e --rsh --rsync-path --log-file --write-batch --only-write-batch --early-input", "BfMT",
     "runs, writes"},
    {"sed", "", "-i -f --in-place --file", "el", "edits files, commands from a file"},
    {"sort", "", "-o -T --output --compress-program --temporary-directory", "ktS", "writes, runs a program"},
    {"rg", "", "--pre --hostname-bin --search-zip -z", "efgmtTABCEjMr", "runs a program"},
    {"awk gawk", "", "-f -i -l -E --file --include --load --exec --dump-variables --profile --pretty-print", "vF",
     "program file"},
    {"mawk", "", "-f -W", "vF", "program file"},
    {"file", "", "-m -C -z -Z --magic-file --compile --uncompress", "FPef", "magic file, writes"},
    {"curl", "",
     "-o -O -J -K -D -c -w -T -F -Q --output --output-dir --remote-name --remote-name-all --remote-header-name "
     "--config --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc "
     "--engine "
     "--netrc-file --create-dirs --write-out --upload-file --form --quote --variable --expand-* --unix-socket "
     "--abstract-unix-socket --xattr *@*",
     "AbCdeEFhHmPQrtTuUwxXyYz", "writes a file, sends a file, options from a file"},
    {"wget", "",
     "-O -o -a -P -e -i --output-document --output-file --append-output --directory-prefix --execute "
     "--input-file --config --use-askpass --save-cookies --warc-file --post-file --body-file",
     "tTwQlADRXIBU", "writes, runs"},
    {"ssh", "", "-o -F -E -w -L -R -D -S", "bcilmpBIJOQW", "runs a program, opens ports"},
    {"scp", "", "-o -F -S -D", "cilPJX", "runs a program"},
    {"sftp", "", "-o -F -S -D -b", "BcilPJRs", "runs a program"},
    {"base64", "", "-o -D --output", "wbi", "writes a file"},
    {"date", "", "-s --set", "dfrI", "sets the clock"},
    {"hostname", "", "-F --file -b", "", "sets the name"},
    {"npm", "",
     "-C -c --script-shell --prefix --userconfig --globalconfig --node-options --git --shell --editor --viewer "
     "--browser --call --logs-dir --pack-destination --init-module --node-gyp --python -script-shell -prefix "
     "-userconfig "
     "-globalconfig -node-options -git -shell -editor -viewer -browser -call -logs-dir -pack-destination -init-module "
     "-node-gyp -python",
     "", "replaces the shell, another project"},
    {"npm", "config", "config", "", "changes what npm runs later"},
    {"npm", "exec", "exec", "", "runs a program"},
    {"npm", "x", "x", "", "runs a program"},
    {"npm", "explore", "explore", "", "runs a program"},
    {"pnpm", "", "--script-shell --dir --prefix", "CF", "replaces the shell"},
    {"yarn", "", "--cwd --script-shell --use-yarnrc", "", "replaces the shell"},
    {"make gmake", "", "-f -C -I -E --file --makefile --directory --include-dir --eval --shell =", "joWlO",
     "another recipe file, variables that hold commands"},
    {"ninja", "", "-f -C", "jkldtw", "another recipe file"},
    {"cmake", "",
     "-P* -E* -C* -D* -- -graphviz -toolchain -trace-redirect -profiling-output -debugger-dap-log -install-prefix",
     kNoClusters, "runs a script or a command, writes"},
    {"ctest", "",
     "-S* -T* -D* -M* -O* --script --script-new-process --build-and-test --build-makeprogram --test-command --test-dir "
     "--output-log --output-junit --dashboard",
     kNoClusters, "runs a script or a command, writes"},
    {"go", "",
     "-exec -toolexec -vettool -o -C -c -modfile -overlay -ldflags -gcflags -asmflags -gccgoflags -compiler -pkgdir "
     "-coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -test.*",
     kNoClusters, "runs a program, writes"},
    {"go", "env", "-w -u", kNoClusters, "changes what go runs later"},
    {"cargo", "", "--config --manifest-path --target-dir -C -Z", "pjF", "configuration that runs programs"},
    {"man", "", "-P -H -C -l --pager --html --config-file --local-file", "LmMReTEsS", "runs a pager"},
    {"tcpdump", "", "-z -w -W -C -G", "", "runs a program, writes"},
    {"zip", "", "-T -O -b --unzip-command -TT", "", "runs a program"},
    {"cpio", "", "-F -O --rsh-command --file", "", "runs a program"},
    {"dmesg", "", "-c -C -D -E -n --clear --read-clear", "", "changes the buffer"},
    {"docker", "", "--config --host -H -v --volume --mount --privileged --device", "c", "reaches the host"},
    {"podman", "", "-v --volume --mount --privileged --device --runtime", "", "reaches the host"},
    {"gcc g++ cc c++ c89 c99 clang clang++", "",
     "@* -o* -B* -wrapper -specs -fplugin* -iplugindir -Wl,* -Wa,* -Wp,* -Xlinker -Xassembler -Xpreprocessor -Xclang* "
     "-fuse-ld -fpass-plugin -load -mllvm -cc1* -config* -ld-path -gcc-toolchain -gcc-install-dir -for-linker "
     "-for-assembler -output* -prefix* -T* -MF* -MD -MMD -aux-info -dumpdir -dumpbase -save-temps -fdump-* "
     "-serialize-diagnostics",
     kNoClusters, "runs a program, writes, options from a file"},
    {"ld ld.bfd ld.gold ld.lld lld mold", "",
     "@* -o* -plugin* -plugin-opt -T* -c* -Map* -script -mri-script -output -dependency-file -out-implib -run -load*",
     kNoClusters, "loads a plugin, writes, options from a file"},
    {"rustc", "",
     "@* -o -L -Z --out-dir --emit --extern --sysroot *linker* *link-arg* *llvm-args* *dlltool* *incremental=* "
     "*save-temps* *profile-generate*",
     "CFWADl", "runs a linker, loads a library, writes"},
    {"split", "", "--filter", "", "runs a program"},
    {"shuf", "", "-o --output", "in", "writes a file"},
    {"iconv", "", "-o --output", "ft", "writes a file"},
    {"xmllint", "", "-o -output --output -shell --shell", kNoClusters, "writes a file, takes commands"},
    {"xsltproc", "", "-o -output --output -writesubtree", kNoClusters, "writes a file"},
    {"fzf", "",
     "--preview --bind --execute --become --listen --listen-unsafe --with-shell --info-command --history --tmux", "",
     "runs a program"},
    {"bat batcat", "", "--pager --lessopen --generate-config-file --config-file", "", "runs a pager, writes"},
    {"bat batcat", "cache", "cache", "", "writes"},
    {"pandoc", "",
     "-F -L -o -d --filter --lua-filter --output --defaults --pdf-engine --pdf-engine-opt --extract-media --log "
     "--data-dir *.lua*",
     "frtwTVHBAcM", "runs a program, writes"},
    {"openssl", "",
     "engine rehash -engine -engine_impl -keyform -provider -provider-path -config -out -outdir -keyout -writerand "
     "-CAcreateserial -CAserial -sess_out -keylogfile -loadable",
     kNoClusters, "loads a library, writes"},
    {"psql", "", "-c -f -o -L --command --file --output --log-file", "hpUdvFPRT", "runs commands, writes"},
    {"mysql", "", "-e --execute --pager --tee", "hPuDp", "runs commands, writes"},
    {"ctags", "", "-o -f -L --options --output", "", "options from a file, writes"},
    {"xxd", "", "-r", "clsgob", "writes a file"},
    {"tree", "", "-o -R --output", "LPIH", "writes a file"},
    {"ip", "", "-b -batch netns", "", "runs a program"},
    {"printf", "", "-v", "", "assigns through an evaluated subscript"},
    {"test", "", "-v -R", "", "evaluates a subscript"},
    {"python", "", "-c -m -i", "WXQ", "program text, module"},
    {"pypy", "", "-c -m -i", "WXQ", "program text, module"},
    {"perl", "", "-e -E -i -M -m -x -d -I", "", "program text, modules"},
    {"ruby", "", "-e -i -r -x -I", "", "program text, modules"},
    {"node nodejs", "",
     "-e -p -r -i --eval --print --require --import --loader --experimental-loader --env-file --env-file-if-exists "
     "--openssl-config --openssl-shared-config --run --inspect* --snapshot-blob --build-snapshot* --test-reporter* "
     "--experimental-sea-config --experimental-config-file --experimental-default-config-file --redirect-warnings "
     "--cpu-prof* --heap-prof* --heapsnapshot* --diagnostic-dir --report-* --trace-event* --prof --logfile "
     "--tls-keylog --localstorage-file --icu-data-dir",
     "C", "program text, modules, settings from a file, writes"},
    {"deno", "", "eval repl --allow-all -A --allow-run", "", "program text, every right"},
    {"bun", "", "-e -p -r --eval --print --preload", "", "program text, modules"},
    {"php", "", "-r -B -R -E -F -d -c -a -z", "ft", "program text, configuration"},
    {"lua", "", "-e -l -i", "", "program text, modules"},
    {"Rscript", "", "-e", "", "program text"},
    {"julia", "", "-e -E -L -i --eval --print --load", "", "program text"},
    {"guile", "", "-c -l -e", "", "program text"},
    {"tclsh", "", "-encoding", "", "another reading of the file"},
    {"osascript", "", "-e", "", "program text"},
    {"pwsh", "", "-c -Command -EncodedCommand -e", "", "program text"},
};

constexpr RiskyOperands kRiskyOperands[] = {
    {"less", Operands::any, "runs commands and LESSOPEN"},
    {"more", Operands::any, "runs commands"},
    {"most", Operands::any, "runs commands"},
    {"man", Operands::any, "runs a pager"},
    {"info", Operands::any, "runs commands"},
    {"vi", Operands::any, "runs commands"},
    {"vim", Operands::any, "runs commands"},
    {"nvim", Operands::any, "runs commands"},
    {"view", Operands::any, "runs commands"},
    {"ex", Operands::any, "runs commands"},
    {"ed", Operands::any, "runs commands"},
    {"emacs", Operands::any, "runs commands"},
    {"nano", Operands::any, "runs commands"},
    {"gdb", Operands::any, "runs commands"},
    {"lldb", Operands::any, "runs commands"},
    {"expect", Operands::any, "runs commands"},
    {"tmux", Operands::any, "runs commands"},
    {"screen", Operands::any, "runs commands"},
    {"at", Operands::any, "runs commands later"},
    {"batch", Operands::any, "runs commands later"},
    {"crontab", Operands::any, "runs commands later"},
    {"entr", Operands::any, "runs its operand"},
    {"sqlite", Operands::any, "has .shell and .output"},
    {"dd", Operands::any, "writes a file"},
    {"tee", Operands::any, "writes a file"},
    {"compgen", Operands::any, "expands its words"},
    {"uniq", Operands::from_second, "the second operand is written"},
    {"sed", Operands::program_text, "e and w commands"},
    {"awk", Operands::program_text, "system(), pipes and redirections"},
    {"gawk", Operands::program_text, "system(), pipes and redirections"},
    {"mawk", Operands::program_text, "system(), pipes and redirections"},
    {"nawk", Operands::program_text, "system(), pipes and redirections"},
};

constexpr std::string_view kInterpreters =
    "python pypy perl ruby node nodejs bun php lua luajit Rscript julia guile tclsh wish pwsh bc dc gdb m4";

constexpr std::string_view kStateChanging =
    ". source eval exec trap export declare typeset local readonly alias unalias hash enable set unset shopt read "
    "mapfile "
    "readarray let getopts bind complete compopt setopt unsetopt autoload zmodload emulate fc history umask ulimit "
    "add-zsh-hook vared disable rehash limit";

constexpr std::string_view kOnlyPrints = "echo printf true false : test basename dirname seq";
constexpr std::string_view kWriters =
    "tee cp mv rm rmdir unlink mkdir touch truncate install ln dd chmod chown chgrp shred patch rsync mkfifo mknod "
    "split "
    "csplit sponge setfacl chattr";

constexpr std::array<std::string_view, 3> kLoaderPrefixes{"LD_", "DYLD_", "BASH_FUNC_"};
constexpr std::string_view kLoaderNames = "BASH_ENV GCONV_PATH";

}  // namespace

const std::vector<RiskyOptions>& risky_options() {
  return kRiskyOptions;
}

const RiskyOperands* risky_operands(std::string_view program) {
  for (const RiskyOperands& operands : kRiskyOperands) {
    if (operands.program == program) return &operands;
  }
  return nullptr;
}

bool is_interpreter(std::string_view program) {
  return has_word(kInterpreters, program);
}

std::string_view without_version(std::string_view program) {
  const std::size_t last = program.find_last_not_of("0123456789.-");
  return last == std::string_view::npos ? program : program.substr(0, last + 1);
}

bool is_state_changing_builtin(std::string_view program) {
  return has_word(kStateChanging, program);
}

bool is_loader_variable(std::string_view assignment) {
  const std::string_view name = assignment.substr(0, assignment.find_first_of("=+["));
  for (const std::string_view prefix : kLoaderPrefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return has_word(kLoaderNames, name);
}

bool only_prints(std::string_view program) {
  return has_word(kOnlyPrints, program);
}

bool writes_operands(std::string_view program) {
  return has_word(kWriters, program);
}

}  // namespace oncelatch::policy
