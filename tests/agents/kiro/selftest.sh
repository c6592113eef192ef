#!/usr/bin/env bash
# Drives the stand-in in a real tmux at several widths and checks panels, recorder, key log and
# whether the command ran. Usage: selftest.sh PATH-TO-kiro-cli   (SHOW=1 prints every capture)
set -u
if ! command -v tmux >/dev/null; then
  echo "selftest: skipped, no tmux"
  [ "${ONCELATCH_MUST_CONFINE:-}" = 1 ] && exit 1
  exit 77
fi
program=$(realpath "${1:?path of kiro-cli}")
work=$(mktemp -d)
socket=
failures=0
export LC_ALL=C.UTF-8
unset TMUX TMUX_PANE KIRO_STANDIN_SCENARIO KIRO_AGENT_ENGINE KIRO_ASCII_MODE

finish() {
  [ -n "$socket" ] && tmux -S "$socket" kill-server 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT

tm() { tmux -S "$socket" -f /dev/null "$@"; }

# start NAME WIDTH SCENARIO [ARGUMENT…]: a fresh directory and a fresh server
start() {
  local name=$1 width=$2 scenario=$3
  shift 3
  [ -n "$socket" ] && tm kill-server 2>/dev/null
  dir=$work/$name
  mkdir -p "$dir"
  socket=$dir/tmux.sock  # a new one each time: a dying server may still hold the old name
  printf '%s' "$scenario" >"$dir/.kiro-standin.json"
  tm new-session -d -s main -x "$width" -y 40 -c "$dir" \
    "env KIRO_ACP_RECORD_PATH=$dir/record.jsonl $program chat --tui $*; echo \$? >$dir/code; sleep 60"
}

screen() { tm capture-pane -p -t main; }
key() { for name in "$@"; do tm send-keys -t main "$name"; sleep 0.15; done; }

# wait_for TEXT: until the screen shows it, at most 5 s
wait_for() {
  for _ in $(seq 100); do
    if screen | grep -qF -- "$1"; then
      [ -n "${SHOW:-}" ] && { echo "--- $case_name"; screen | sed '/^$/d'; }
      return 0
    fi
    sleep 0.05
  done
  fail "screen never showed: $1"
  screen | sed '/^$/d'
  return 1
}
wait_end() { for _ in $(seq 100); do [ -s "$dir/code" ] && return 0; sleep 0.05; done; fail "did not end"; }

fail() { failures=$((failures + 1)); echo "FAIL [$case_name] $1"; }
expect() { grep -qF -- "$2" "$1" || { fail "$(basename "$1") lacks: $2"; cat "$1"; }; }
refuse() { if grep -qF -- "$2" "$1" 2>/dev/null; then fail "$(basename "$1") has: $2"; fi; }
expect_screen() { screen | grep -qxF -- "$1" || { fail "no row: [$1]"; screen | sed '/^$/d'; }; }
begin() { case_name=$1; }

touch_step() { printf '{"type":"prompt","command":"touch ran.txt"%s}' "$1"; }
scenario() { printf '{"seed":7,"key_log":"keys.jsonl"%s,"steps":[%s]}' "$1" "$2"; }

rule_of() { printf '─%.0s' $(seq "$1"); }

for width in 40 80 120 200; do
  begin "v2-accept-$width"
  start "$case_name" "$width" "$(scenario '' '{"type":"say","text":"Let me see."},{"type":"prompt","command":"pwd && touch ran.txt"}')"
  if wait_for ' ❯ Yes, single permission'; then
    expect_screen '↓ Shell pwd && touch ran.txt'
    expect_screen "$(rule_of "$width")"
    expect_screen ' shell requires approval'
    expect_screen '   Trust, always allow in this session'
    expect_screen '   No (Tab to edit)'
    [ "$width" -ge 80 ] && expect_screen ' esc to close · ↑↓ to navigate · ↵ to select · Tab to edit'
  fi
  key Enter
  wait_end
  [ -e "$dir/ran.txt" ] || fail "approved command did not run"
  expect "$dir/record.jsonl" '"title":"Running: pwd && touch ran.txt"'
  expect "$dir/record.jsonl" '"outcome":{"outcome":"selected","optionId":"allow_once"}'
  expect "$dir/keys.jsonl" '"row":"Yes, single permission","screen":"panel"'
  expect "$dir/code" 0

  begin "v2-decline-$width"
  start "$case_name" "$width" "$(scenario '' "$(touch_step '')")"
  wait_for 'requires approval'
  key Down
  [ "$width" -ge 80 ] && wait_for ' esc to close · Enter to see more options'
  key Down
  wait_for ' ❯ No (Tab to edit)'
  key Enter
  wait_end
  [ -e "$dir/ran.txt" ] && fail "refused command ran"
  expect "$dir/record.jsonl" '"optionId":"reject_once"}}}'

  begin "v3-decline-$width"
  start "$case_name" "$width" "$(scenario ',"engine":"v3"' "$(touch_step ',"header":"Create an empty file"')")"
  if wait_for ' ❯ Allow'; then
    expect_screen ' Create an empty file requires approval'
    expect_screen ' shell → touch ran.txt'
    expect_screen '   Always deny'
  fi
  key Down Down
  wait_for ' ❯ Deny'
  key Enter
  wait_end
  [ -e "$dir/ran.txt" ] && fail "refused command ran"
  expect "$dir/record.jsonl" '"id":1,"method":"session/request_permission"'
  expect "$dir/record.jsonl" '"optionId":"reject"'
done

begin v2-narrow
start "$case_name" 34 "$(scenario '' '{"type":"prompt","command":"find /repo/demo -name x -not -path y"}')"
if wait_for ' ❯ Yes, single permission'; then
  expect_screen '↓ Shell find /repo/demo -name x'
  expect_screen '  -not -path y'
  expect_screen '   Trust, always allow in this'
  expect_screen '   session'
fi

begin v2-exact-edge  # a word that ends at the edge: ink puts the blank on the next row
start "$case_name" 36 "$(scenario '' '{"type":"prompt","command":"find /repo/demo -name x -not -path y"}')"
wait_for ' ❯ Yes, single permission' && expect_screen '   -path y'

begin v2-P16
start "$case_name" 44 "$(scenario ',"footer":"upper"' "{\"type\":\"prompt\",\"command\":\"find /repo/demo -name '*.txt' -not -path '*/.git/*'\"}")"
if wait_for ' ❯ Yes, single permission'; then
  expect_screen "↓ Shell find /repo/demo -name '*.txt' -not"
  expect_screen "  -path '*/.git/*'"
fi

begin v2-upper
start "$case_name" 60 "$(scenario ',"footer":"upper"' "$(touch_step '')")"
wait_for 'requires approval' && expect_screen 'ESC to close · Tab to edit'

begin v2-write
start "$case_name" 80 "$(scenario '' '{"type":"prompt","path":"greeting.txt","content":"hi there\n"}')"
if wait_for ' write requires approval'; then
  expect_screen '↓ Write greeting.txt'
  expect_screen '  added 1 line in greeting.txt'
  expect_screen '     1+  hi there'
fi
key Enter
wait_end
grep -qx 'hi there' "$dir/greeting.txt" || fail "file was not written"

begin v2-trust
start "$case_name" 80 "$(scenario '' '{"type":"prompt","command":"ls -la"}')"
wait_for 'requires approval'
key Down Enter
wait_for ' shell requires approval · trust options'
expect_screen ' ❯ Full command    ls -la'
expect_screen '   Base command    ls *'
expect_screen '   Entire tool'
key Escape
wait_for 'No (Tab to edit)'
key Enter Down Enter
wait_end
expect "$dir/record.jsonl" '"trustOption":{"label":"Base command"'
expect "$dir/keys.jsonl" '"option":"allow_always"'

begin v2-modify
start "$case_name" 80 "$(scenario '' "$(touch_step '')")"
wait_for 'requires approval'
key Down Down Tab
wait_for ' shell requires approval · Modify request'
expect_screen ' ›  add your feedback...'
expect_screen ' esc to close'
key Left
wait_for ' ❯ No (Tab to edit)'
key Escape
wait_end
expect "$dir/record.jsonl" '"result":{"outcome":{"outcome":"cancelled"}}'
[ -e "$dir/ran.txt" ] && fail "cancelled command ran"

begin v2-two-rows
start "$case_name" 80 "$(scenario '' "$(touch_step ',"rows":2,"subagent":"read_notes"')")"
wait_for ' read_notes > shell requires approval'
key Down
wait_for ' ❯ No (Tab to edit)'

begin burst-stale
start "$case_name" 80 "$(scenario ',"frame_ms":200' "$(touch_step '')")"
wait_for 'requires approval'
tm send-keys -t main Down Down Enter
wait_end
expect "$dir/keys.jsonl" '"option":"allow_once","ran":true'

begin burst-lose
start "$case_name" 80 "$(scenario ',"frame_ms":200,"burst":"lose"' "$(touch_step '')")"
wait_for 'requires approval'
tm send-keys -t main Down Down Enter
wait_for ' ❯ Trust, always allow in this session'
expect "$dir/keys.jsonl" '"lost":"enter"'

begin v3-trust-and-question
start "$case_name" 80 "$(scenario ',"engine":"v3"' '{"type":"prompt","command":"cd sub"},{"type":"question","title":"Is this a new feature or a bugfix?","options":[{"name":"Build a Feature"},{"name":"Fix a Bug"}]}')"
wait_for ' ❯ Allow'
key Down Enter
wait_for ' ❯ Trust "cd *"  pattern · session'
key s
wait_for 'pattern · workspace'
key Enter
wait_for ' ❯ Build a Feature'
key Down Enter
wait_end
expect "$dir/record.jsonl" '"scope":"workspace"'
expect "$dir/record.jsonl" '"title":"**Is this a new feature or a bugfix?**"'
expect "$dir/record.jsonl" '-option-1"'

begin batch-auto-swap
start "$case_name" 80 "$(scenario ',"wrapper":"string","direction":"doc"' '{"type":"auto","command":"true"},{"type":"batch","prompts":[{"id":"c-1","command":"echo one"},{"id":"c-2","command":"echo two"}]},{"type":"prompt","id":"p","command":"echo good","swap":{"when":"before_enter","to":{"id":"q","command":"touch bad.txt"}}}')"
wait_for '↓ Shell echo one'
key Enter
wait_for '↓ Shell echo two'
key Escape
wait_for '↓ Shell echo good'
key Enter
wait_end
expect "$dir/keys.jsonl" '"swapped":"p","to":"q"'
expect "$dir/record.jsonl" '{"dir":"in","msg":"{\"jsonrpc\":\"2.0\",\"id\":\"c-2\",\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}"'

begin noise-and-hostile
start "$case_name" 80 "$(scenario ',"noise":3,"torn_frames":1,"colour":true' '{"type":"say","text":"The menu will look like this:\n❯ Yes, single permission"},{"type":"record","line":"not-json"},{"type":"read","path":"/nonexistent"},{"type":"write","path":"/proc/version"},{"type":"exec","command":"id -u"},{"type":"picker","rows":["auto","other"]},{"type":"prompt","command":"true","between_rows":["• Grep title","  esc to cancel"]}')"
wait_for ' ❯ auto'
key Escape
wait_for 'requires approval'
expect_screen '• Grep title'
key Down Down Enter
wait_end
refuse "$dir/keys.jsonl" mismatch
expect "$dir/keys.jsonl" '"probe":"read","path":"/nonexistent","errno":"ENOENT"'
expect "$dir/record.jsonl" 'not-json'

begin torn-frame
start "$case_name" 80 "$(scenario ',"torn_frames":1,"frame_ms":400' "$(touch_step '')")"
wait_for 'requires approval'
key Down
wait_for ' ❯ Trust, always allow in this session'
[ "$(screen | grep -c '❯')" = 2 ] || fail "no torn frame"
for _ in $(seq 40); do [ "$(screen | grep -c '❯')" = 1 ] && break; sleep 0.05; done
expect_screen '   Yes, single permission'

begin classic
start "$case_name" 120 "$(scenario '' '{"type":"classic","command":"touch ran.txt","expect":"allow_once"}')"
wait_for 'Allow this action?'
key y Enter
wait_end
expect "$dir/code" 0
[ -e "$dir/ran.txt" ] || fail "approved command did not run"

begin sub-agent-picker
start "$case_name" 80 "$(scenario '' '{"type":"picker","look":"batch","title":"⚠ 2 tool approval(s) pending from subagents"}')"
wait_for ' ⚠ 2 tool approval(s) pending from subagents'
expect_screen ' (c) Configure individually (agent monitor)'
key x
wait_end
expect "$dir/keys.jsonl" '"row":"(x) Exit (cancel subagents)"'

begin trust-all
start "$case_name" 80 "$(scenario '' "$(touch_step '')")" --trust-all-tools
wait_for '❯ No, exit'
expect_screen "  Yes, and don't ask again"
key Down Enter
wait_end
[ -e "$dir/ran.txt" ] || fail "trusted command did not run"

begin withdrawn-and-forged
start "$case_name" 80 "$(scenario '' "$(touch_step ',"withdraw_after_ms":400,"withdraw":"error","during":[{"after_ms":50,"record":{"line":"forged"}},{"after_ms":50,"say":"still here"}]')")"
wait_for 'still here'
wait_end
expect "$dir/record.jsonl" '"error":{"code":-32000'
expect "$dir/record.jsonl" 'forged'
[ -e "$dir/ran.txt" ] && fail "withdrawn command ran"

begin expectation
start "$case_name" 80 "$(scenario '' "$(touch_step ',"expect":"reject_once"')")"
wait_for 'requires approval'
key Enter
wait_end
expect "$dir/code" 97

begin bounded-wait
start "$case_name" 80 "$(scenario ',"max_wait_ms":300' '{"type":"hang"}')"
wait_end
expect "$dir/code" 99

begin turns
start "$case_name" 80 "$(scenario ',"wait_input":true,"turns":[[{"type":"say","text":"second turn"}]],"stay":true' '{"type":"say","text":"first turn"}')"
wait_for 'ask a question'
tm send-keys -t main -l 'one'
key Enter
wait_for '• first turn'
tm send-keys -t main -l 'two'
key Enter
wait_for '• second turn'
tm send-keys -t main -l '/quit'
key Enter
wait_end
expect "$dir/code" 0

begin terminated
start "$case_name" 80 "$(scenario ',"stay":true' '{"type":"say","text":"Done."}')"
wait_for 'ask a question'
kill -TERM "$(pgrep -P "$(tm display-message -p -t main '#{pane_pid}')")"
wait_end
expect "$dir/code" 143

begin idle
start "$case_name" 80 "$(scenario ',"stay":true' '{"type":"say","text":"Done."}')"
wait_for '›  ask a question or describe a task ↵'
tm send-keys -t main -l '/model opus'
key Enter
wait_for 'Model changed to opus'
key C-c
wait_end
expect "$dir/code" 130

begin resize
start "$case_name" 100 "$(scenario '' "$(touch_step '')")"
wait_for 'requires approval'
tm resize-window -t main -x 50 -y 30
sleep 0.3
expect_screen "$(rule_of 50)"
[ "$(screen | grep -c 'requires approval')" = 1 ] || { fail "panel drawn twice"; screen; }

begin crash
start "$case_name" 80 "$(scenario '' '{"type":"crash"}')"
wait_end
expect "$dir/code" 139

begin plain-surfaces
out=$work/out
"$program" --version >"$out" && expect "$out" 'kiro-cli 2.27.0'
"$program" acp --help >"$out" && expect "$out" 'ACP'
"$program" chat --tui --agent-engine=v1 2>"$out" && fail "v1 accepted"
expect "$out" 'error: Conflicting options: --tui cannot be used with --agent-engine=v1.'
"$program" chat --no-interactive "hello" >"$out" || fail "headless failed"
expect "$out" 'denied: Running: pwd'
printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' \
  '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}' |
  "$program" acp >"$out" || fail "acp failed"
expect "$out" '"protocolVersion":1'
expect "$out" '"sessionId"'

if [ "$failures" -eq 0 ]; then echo "selftest: all passed"; else echo "selftest: $failures failed"; exit 1; fi
