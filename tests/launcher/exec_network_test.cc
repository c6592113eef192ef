// What a command reaches by the network: nothing of the host's, its own loopback, or the ports that were named; and
// that the rest of the sandbox doesn't depend on it.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// On every address of the host.
struct Listener {
  Fd socket;
  std::string port;
};

Listener listen_on_host(int type) {
  Listener listener{Fd(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), {}};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(::listen(listener.socket.get(), 64), 0);
  }
  EXPECT_EQ(::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  listener.port = std::to_string(ntohs(address.sin_port));
  return listener;
}

bool was_reached(const Listener& listener, int type) {
  char byte;
  if (type == SOCK_DGRAM) return ::recv(listener.socket.get(), &byte, 1, 0) >= 0;
  return Fd(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0;
}

// Addresses under which the host itself can be reached.
std::string addresses_of_host() {
  std::string all = "127.0.0.1 127.0.0.2 0.0.0.0";
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    char text[INET_ADDRSTRLEN];
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) all += std::string(" ") + text;
  }
  ::freeifaddrs(first);
  return all;
}

// TCP port, UDP port, addresses: tries every way to them, and tells which way got an answer of the kernel's that isn't
// a refusal.
constexpr const char* kReach = R"py(
import socket, sys
tcp, udp = int(sys.argv[1]), int(sys.argv[2])
def way(name, attempt):
    try:
        attempt()
        print("through", name)
    except OSError:
        pass
def dgram(to, broadcast=False):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if broadcast: s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b"x", (to, udp))
def stream(to):
    s = socket.socket(); s.settimeout(2); s.connect((to, tcp))
def fast_open(to):
    s = socket.socket(); s.settimeout(2); s.sendto(b"x", 0x20000000, (to, tcp))
def mapped(to):
    s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(("::ffff:" + to, tcp))
for to in sys.argv[3:]:
    way("udp " + to, lambda: dgram(to))
    way("tcp " + to, lambda: stream(to))
    way("fast open " + to, lambda: fast_open(to))
    way("mapped " + to, lambda: mapped(to))
way("broadcast", lambda: dgram("255.255.255.255", True))
way("multicast", lambda: dgram("224.0.0.1"))
)py";

// Families and types that reach other machines, devices or the kernel itself.
constexpr const char* kFamilies = R"py(
import socket, errno
for family, kind, protocol in [(2, 3, 1), (2, 3, 255), (10, 3, 58), (2, 2, 1), (17, 3, 3), (17, 2, 3), (40, 1, 0), (38, 5, 0),
                               (16, 3, 9), (16, 3, 12), (16, 3, 15), (15, 3, 2), (30, 1, 0), (29, 3, 1), (31, 3, 1), (44, 3, 0),
                               (2, 6, 33), (2, 1, 132), (2, 1, 262), (21, 5, 0), (8, 2, 0), (9, 5, 0), (4, 2, 0), (5, 2, 0)]:
    try:
        socket.socket(family, kind, protocol)
        print("opened", family, kind, protocol)
    except OSError as error:
        pass
)py";

class ExecNetwork : public Exec {
 protected:
  [[nodiscard]] Words reach(const Listener& tcp, const Listener& udp) const {
    Words words = {"python3", "-c", kReach, tcp.port, udp.port};
    std::istringstream addresses(addresses_of_host());
    for (std::string one; addresses >> one;) words.push_back(one);
    return words;
  }
};

// B050: no packet leaves, whatever family carries it.
TEST_P(ExecNetwork, B050NothingOfTheHostIsReached) {
  const Listener tcp = listen_on_host(SOCK_STREAM);
  const Listener udp = listen_on_host(SOCK_DGRAM);
  for (const Words& options :
       {Words{}, Words{"--net", "none"}, Words{"--net", "loopback"}, Words{"--allow", "loopback"}}) {
    SCOPED_TRACE(::testing::PrintToString(options));
    const Output output = run(options, reach(tcp, udp));
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    EXPECT_THAT(output.out, AllOf(Not(HasSubstr("tcp")), Not(HasSubstr("fast open")), Not(HasSubstr("mapped"))));
    EXPECT_FALSE(was_reached(tcp, SOCK_STREAM));
    EXPECT_FALSE(was_reached(udp, SOCK_DGRAM));
    EXPECT_EQ(run(options, {"python3", "-c", kFamilies}).out, "");
  }
  std::string outside = "exec";
  for (const std::string& word : reach(tcp, udp)) outside += " '" + word + "'";
  EXPECT_THAT(scratch.on_host(outside), AllOf(HasSubstr("tcp 127.0.0.1"), HasSubstr("udp 127.0.0.1")));
  EXPECT_TRUE(was_reached(tcp, SOCK_STREAM)) << "they can be reached";
  EXPECT_TRUE(was_reached(udp, SOCK_DGRAM));
}

// B050: a name is answered at once, and a server of its own works where the loopback is asked for.
TEST_P(ExecNetwork, B050NamesDontWaitAndTheOwnLoopbackWorks) {
  const char* names = R"py(
import socket, time
start = time.monotonic()
for name in ["example.com", "no-such-host.test", "metadata.google.internal"]:
    try:
        socket.getaddrinfo(name, 443)
        print("resolved", name)
    except OSError:
        pass
print("at once" if time.monotonic() - start < 3 else "waited")
)py";
  const char* server = R"py(
import socket
for kind, address in [(socket.SOCK_STREAM, ("127.0.0.1", 0)), (socket.SOCK_DGRAM, ("127.0.0.1", 0))]:
    s = socket.socket(socket.AF_INET, kind); s.bind(address)
    c = socket.socket(socket.AF_INET, kind)
    if kind == socket.SOCK_STREAM:
        s.listen(); c.connect(s.getsockname()); s, _ = s.accept()
    else:
        c.connect(s.getsockname())
    c.send(b"x"); assert s.recv(9) == b"x"
print("works")
)py";
  for (const Words& options : {Words{}, Words{"--net", "loopback"}})
    EXPECT_EQ(run(options, {"python3", "-c", names}).out, "at once\n");
  const Output works = run({"--net", "loopback"}, {"python3", "-c", server});
  EXPECT_EQ(works.out, "works\n") << works.err;
}

// B048: a port of the host's is reached where it is named, by every spelling of its address; the files stay as they
// are.
TEST_P(ExecNetwork, B048AHostsPortOpensNothingElse) {
  const Listener tcp = listen_on_host(SOCK_STREAM);
  const Listener other = listen_on_host(SOCK_STREAM);
  scratch.write("home/secret", "canary-4711\n");
  const char* connecting = R"py(
import socket, sys
for name in ["localhost", "127.0.0.1", "127.0.0.2"]:
    for port in sys.argv[1:]:
        try:
            socket.create_connection((name, int(port)), 5)
            print(name, port)
        except OSError:
            pass
)py";
  const Words command = {"python3", "-c", connecting, tcp.port, other.port};
  const Words named = {"--net", "ports:" + tcp.port};
  const Output output = run(named, command);
  EXPECT_EQ(output.out, "localhost " + tcp.port + "\n127.0.0.1 " + tcp.port + "\n127.0.0.2 " + tcp.port + "\n")
      << output.err;
  EXPECT_TRUE(was_reached(tcp, SOCK_STREAM));
  EXPECT_FALSE(was_reached(other, SOCK_STREAM));
  EXPECT_EQ(run({}, command).out, "");
  for (const Words& options : {Words{}, named, Words{"--net", "loopback"}}) {
    const Output files = shell("cat " + path("home/secret") + "; echo x > " + path("home/made") +
                                   "; echo x > .envrc; echo x > made; cat made; ls /home/agent",
                               options);
    EXPECT_EQ(files.out, "x\n") << files.err;
    EXPECT_FALSE(scratch.exists("home/made"));
    EXPECT_FALSE(scratch.exists("repository/.envrc"));
  }
}

EXEC_USERS(ExecNetwork);

}  // namespace
}  // namespace oncelatch::test
