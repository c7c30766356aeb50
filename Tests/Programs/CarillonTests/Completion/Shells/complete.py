"""Types command lines into a real shell on a pseudo-terminal and prints what completion makes of each.

usage: complete.py SHELL SCRIPT DIRECTORY LINE...

SHELL is bash, zsh or fish, SCRIPT the file that 'carillon completion SHELL' has printed, and DIRECTORY the working
directory, which may hold the shell's own files. All candidates are inserted into the line, as the keys of a user may
do, and the words that take the place of the last one are printed, as one JSON array for each
line. fish has a command for that. The lines share a shell, because a shell takes longer to start than to complete.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5, "Tools"))

from lab import patience

# What the shell has shown.
shown = bytearray()
BASH = r"""
PS1='READY> '
bind 'set bell-style none' 'set enable-bracketed-paste off' 2>/dev/null
source "$SCRIPT"
dump() { printf '%s\n' "$READLINE_LINE" >"$DUMP"; READLINE_LINE='' READLINE_POINT=0; }
bind '"\C-xa": insert-completions'
bind -x '"\C-xd": dump'
"""

ZSH = r"""
PROMPT='READY> '
unsetopt zle_bracketed_paste 2>/dev/null
autoload -Uz compinit && compinit -u -D
source "$SCRIPT"
insert-all() { _main_complete; compstate[insert]=all; compstate[list]='' }
zle -C insert-all complete-word insert-all
dump() { print -r -- "$BUFFER" >"$DUMP"; BUFFER='' }
zle -N dump
bindkey '^Xa' insert-all
bindkey '^Xd' dump
"""


def variables(settings):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "CARILLON_CONFIG") if name in os.environ}
    return {**kept, "TERM": "dumb", "LC_ALL": "C.UTF-8", **settings}


def with_keys(command, settings, directory, lines):
    """Runs a shell, types each line and the two keys, and returns the lines that the shell then has."""
    dump, results = settings["DUMP"], []
    os.mkfifo(dump)
    # A reader that is also a writer meets no end between two dumps.
    pipe = os.open(dump, os.O_RDWR | os.O_NONBLOCK)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(directory)
        os.execvpe(command[0], command, variables(settings))
    while b"READY> " not in shown:
        shown.extend(os.read(terminal, 4096))
    for line in lines:
        os.write(terminal, line.encode() + b"\x18a\x18d")
        result = b""
        # The terminal has to be read as well, or the shell would wait for room in it.
        while not result.endswith(b"\n"):
            for source in select.select([pipe, terminal], [], [])[0]:
                if source is pipe:
                    result += os.read(pipe, 4096)
                else:
                    shown.extend(os.read(terminal, 4096))
        results.append(result.decode()[:-1])
    os.close(pipe)
    os.close(terminal)
    os.waitpid(child, 0)
    return results


def with_fish(settings, directory, lines):
    """Returns the candidates that fish names for each line, without their descriptions."""
    code = 'source $SCRIPT; for line in $argv; complete -C $line; echo; end'
    ended = subprocess.run(
        ["fish", "--no-config", "-c", code, *lines], cwd=directory, env=variables(settings), check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    # An empty row ends the candidates of a line.
    blocks, rows = [], []
    for row in ended.stdout.decode().splitlines():
        if row:
            rows.append(row.split("\t")[0])
        else:
            blocks.append(rows)
            rows = []
    return blocks


def candidates(line, completed):
    """The words that have taken the place of the last word of the line."""
    if completed == line:
        return []
    # The words before the last one are as they were typed.
    start = line[: line.rfind(" ") + 1]
    if not completed.startswith(start):
        sys.exit(f"the line was changed: {completed}")
    return completed[len(start):].split()


def main():
    shell, script, directory, *lines = sys.argv[1:]
    folder = tempfile.TemporaryDirectory()

    def last_words():
        print(f"the shell has shown {bytes(shown)}", file=sys.stderr)
        folder.cleanup()

    patience.watch(last_words)
    with folder as own:
        settings = {"SCRIPT": script, "DUMP": os.path.join(own, "dump"), "ZDOTDIR": own, "XDG_CONFIG_HOME": own}
        settings["XDG_DATA_HOME"] = own
        if shell == "fish":
            found = with_fish(settings, directory, lines)
        else:
            rc = os.path.join(own, ".zshrc" if shell == "zsh" else "bashrc")
            with open(rc, "w", encoding="utf-8") as file:
                file.write(ZSH if shell == "zsh" else BASH)
            command = ["zsh", "-i"] if shell == "zsh" else ["bash", "--noprofile", "--rcfile", rc, "-i"]
            completed = with_keys(command, settings, directory, lines)
            found = [candidates(*pair) for pair in zip(lines, completed, strict=True)]
        for words in found:
            print(json.dumps(words))


main()
