#!/usr/bin/python3
"""A terminal program with one approval prompt, for tests with a real tmux: panel.py COMMAND [spoof]

Draws the prompt at the bottom of what it printed, moves the focus on Up and Down, logs every byte read to keys.log in its directory
(argument 1), and ends the prompt on Enter. SIGUSR1 changes the command that the prompt is about.
"""
import os
import signal
import sys
import termios
import tty

log = open(os.path.join(sys.argv[1], "keys.log"), "ab", buffering=0)
command = sys.argv[2]
rows = ["Yes, single permission", "Trust, always allow in this session", "No (Tab to edit)"]
focus = 0
chosen = None


def draw():
    out = "\033[2J\033[H\u2022 working\r\n"
    if len(sys.argv) > 3:
        out += sys.argv[3] + "\r\n"
    if chosen is None:
        rule = "\u2500" * 40
        out += f"\u2193 Shell {command}\r\n{rule}\r\n shell requires approval\r\n"
        for number, row in enumerate(rows):
            out += (" \u276f " if number == focus else "   ") + row + "\r\n"
        out += rule + "\r\n esc to close \u00b7 Tab to edit"
    else:
        out += "chose " + chosen
    os.write(1, out.encode())


def change(*_):
    global command
    command = "date"
    draw()


signal.signal(signal.SIGUSR1, change)
tty.setraw(0, termios.TCSANOW)
open(os.path.join(sys.argv[1], "pid"), "w").write(str(os.getpid()))
draw()
while True:
    try:
        data = os.read(0, 64)
    except InterruptedError:
        continue
    if not data:
        break
    log.write(data + b"|")
    if data in (b"\033[B", b"\033OB"):
        focus = min(focus + 1, len(rows) - 1)
    elif data in (b"\033[A", b"\033OA"):
        focus = max(focus - 1, 0)
    elif data == b"\r":
        chosen = rows[focus]
    draw()
