#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/untrusted.h"
#include "launcher/exec/why_answer.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Answer;
using sandbox::Network;

std::string shown(const std::string& text) {
  return escape_for_display(text, 200);
}

struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool loopback = false;
};

// "127.0.0.1:80", "[::1]:80"
Result<Address> address_of(const std::string& kind, const std::string& text) {
  std::size_t colon = text.rfind(':');
  Address address{text.substr(0, colon), 0, false};
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  const char* end = text.data() + text.size();
  bool number = colon != std::string::npos && std::from_chars(text.data() + colon + 1, end, address.port).ptr == end &&
                address.port != 0;
  in_addr four{};
  in6_addr six{};
  bool is_four = ::inet_pton(AF_INET, address.host.c_str(), &four) == 1;
  bool is_six = !is_four && ::inet_pton(AF_INET6, address.host.c_str(), &six) == 1;
  if (!number || (!is_four && !is_six))
    return fail("command line", "socket:" + kind + ":" + shown(text), "no address and port",
                "write " + kind + ":127.0.0.1:80 or " + kind + ":[::1]:80");
  address.loopback = is_four ? (ntohl(four.s_addr) >> 24) == 127 : IN6_IS_ADDR_LOOPBACK(&six);
  return address;
}

Result<WhyRow> try_to_connect(std::vector<std::string> words, const WhyCase& about) {
  LiveProbe probe = TRY(probe_live(about.plan.sandbox, "/proc/self/exe", words, about.facts));
  WhyRow row{.what = "connect", .asked = true};
  row.tried = probe.error_of("connect");
  return row;
}

// What the far side or the way to it says isn't the sandbox.
const std::vector<int> kFarSide = {ECONNREFUSED, ETIMEDOUT,     EHOSTUNREACH, ENETUNREACH,
                                   ECONNRESET,   EADDRNOTAVAIL, EPERM};

void explain_none(WhyAnswer& why, const Address& address) {
  why.rules.emplace_back("network none: an empty network namespace, and Landlock refuses every TCP port");
  why.change.push_back("--net ports:" + std::to_string(address.port));
  why.permits.push_back("the host's network: any host on TCP port " + std::to_string(address.port) +
                        ", services of this machine on that port too, and UDP everywhere");
  if (!address.loopback) return;
  why.change.emplace_back("--net loopback");
  why.permits.emplace_back("instead a loopback of its own: servers and clients inside, nothing of this machine's");
}

void explain_tcp(WhyAnswer& why, WhyRow& row, const Address& address, const sandbox::SandboxPlan& plan) {
  const bool listed =
      std::find(plan.connect_ports.begin(), plan.connect_ports.end(), address.port) != plan.connect_ports.end();
  switch (plan.network) {
    case Network::none:
      row.plan = Answer::no;
      return explain_none(why, address);
    case Network::loopback:
      row.plan = address.loopback ? Answer::yes : Answer::no;
      why.rules.emplace_back("network loopback: an empty network namespace with a loopback of its own");
      if (address.loopback) why.notes.emplace_back("only servers inside can be reached there, none of this machine's");
      break;
    case Network::ports:
      row.plan = listed ? Answer::yes : Answer::no;
      row.expected = listed ? 0 : EACCES;
      why.rules.emplace_back("network ports: the host's network, narrowed by Landlock to the TCP ports named");
      break;
  }
  if (row.plan == Answer::yes) row.excused = kFarSide;
  if (row.plan == Answer::yes) return;
  std::string ports = "--net ports:";
  for (std::uint16_t port : plan.connect_ports) ports += std::to_string(port) + ",";
  why.change.push_back(ports + std::to_string(address.port));
  why.permits.push_back("any host on that TCP port, services of this machine on it too, and UDP everywhere");
}

Result<WhyAnswer> why_tcp(const std::string& text, const WhyCase& about) {
  Address address = TRY(address_of("tcp", text));
  WhyAnswer why;
  why.object = "TCP " + address.host + " port " + std::to_string(address.port);
  WhyRow row = TRY(try_to_connect({"tcp", address.host, std::to_string(address.port)}, about));
  explain_tcp(why, row, address, about.plan.sandbox);
  why.rows.push_back(std::move(row));
  return why;
}

// Landlock's rules name no datagrams: what the network namespace has.
void explain_udp(WhyAnswer& why, WhyRow& row, const Address& address, Network network) {
  const bool own = network == Network::loopback && address.loopback;
  row.plan = own || network == Network::ports ? Answer::yes : Answer::no;
  if (row.plan == Answer::yes) row.excused = kFarSide;
  if (network == Network::ports) why.rules.emplace_back("network ports: the host's network, and UDP isn't narrowed");
  if (network == Network::loopback)
    why.rules.emplace_back("network loopback: an empty network namespace with a loopback of its own");
  if (network == Network::none) why.rules.emplace_back("network none: an empty network namespace");
  if (own) why.notes.emplace_back("only servers inside can be reached there, none of this machine's");
  if (row.plan == Answer::yes) return;
  why.change.emplace_back("--net ports:443");
  why.permits.emplace_back("the host's network: UDP everywhere, and any host on the TCP ports that are named");
}

Result<WhyAnswer> why_udp(const std::string& text, const WhyCase& about) {
  Address address = TRY(address_of("udp", text));
  WhyAnswer why;
  why.object = "UDP " + address.host + " port " + std::to_string(address.port);
  WhyRow row = TRY(try_to_connect({"udp", address.host, std::to_string(address.port)}, about));
  explain_udp(why, row, address, about.plan.sandbox.network);
  why.rows.push_back(std::move(row));
  return why;
}

Result<WhyAnswer> why_abstract(const std::string& name, const WhyCase& about) {
  WhyAnswer why;
  why.object = "abstract socket " + shown(name);
  WhyRow row = TRY(try_to_connect({"abstract", name}, about));
  row.plan = Answer::no;
  const bool host = about.plan.sandbox.network == Network::ports;
  why.rules.emplace_back(host ? "Landlock's scope of abstract sockets refuses those made outside"
                              : "the network namespace has none of the host's abstract sockets, and Landlock's scope "
                                "refuses those made outside");
  why.permits.emplace_back("no option opens this; sockets that are made inside can be used inside");
  why.rows.push_back(std::move(row));
  return why;
}

Result<WhyAnswer> why_unix(const std::string& path, const WhyCase& about) {
  sandbox::ViewAnswers answers = TRY(sandbox::ViewAnswers::of(about.plan.sandbox, about.facts.landlock_abi));
  sandbox::PathAnswer answer = answers.ask(path);
  WhyAnswer why;
  why.object = "unix socket " + shown(path);
  why.rules.push_back(rule_of(answer, about));
  WhyRow row = TRY(try_to_connect({"unix", path}, about));
  row.plan = answer.connectable;
  row.excused = {ECONNREFUSED, EPROTOTYPE, EAGAIN};  // nobody listens, or not for streams
  if (answer.connectable == Answer::no) add_change(why, answer, path, false, about);
  if (answer.connectable != Answer::no)
    why.notes.emplace_back("whatever the server behind it does for you, it does for what runs inside");
  why.rows.push_back(std::move(row));
  return why;
}

}  // namespace

Result<WhyAnswer> why_socket(const std::string& object, const WhyCase& about) {
  if (object.rfind("tcp:", 0) == 0) return why_tcp(object.substr(4), about);
  if (object.rfind("udp:", 0) == 0) return why_udp(object.substr(4), about);
  if (object.rfind("abstract:", 0) == 0 && object.size() > 9) return why_abstract(object.substr(9), about);
  if (object.rfind('/', 0) == 0) return why_unix(object, about);
  return fail("command line", "socket:" + shown(object), "no such kind",
              "write socket:/PATH, socket:tcp:ADDRESS:PORT, socket:udp:ADDRESS:PORT or socket:abstract:NAME");
}

}  // namespace oncelatch::launcher
