"""Types a command line into a real shell on a pseudo-terminal and prints what completion makes of it.

usage: complete.py SHELL SCRIPT DIRECTORY LINE

SHELL is bash, zsh or fish, SCRIPT the file that 'carillon completion SHELL' has printed, and DIRECTORY the working
directory, which may hold the shell's own files. All candidates are inserted into the line, as the keys of a user may
do, and the words that take the place of the last one are printed. fish has a command for that.
"""

import os
import pty
import select
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "Tools"))

from lab import patience

# What the shell has shown.
shown = bytearray()
BASH = r"""
PS1='READY> '
bind 'set bell-style none' 'set enable-bracketed-paste off' 2>/dev/null
source "$SCRIPT"
dump() { printf '%s\n' "$READLINE_LINE" >"$DUMP"; }
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
dump() { print -r -- "$BUFFER" >"$DUMP" }
zle -N dump
bindkey '^Xa' insert-all
bindkey '^Xd' dump
"""


def variables(settings):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "CARILLON_CONFIG") if name in os.environ}
    return {**kept, "TERM": "dumb", "LC_ALL": "C.UTF-8", **settings}


def with_keys(command, settings, directory, line):
    """Runs a shell, types the line and the two keys, and returns the line that the shell then has."""
    dump = settings["DUMP"]
    os.mkfifo(dump)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(directory)
        os.execvpe(command[0], command, variables(settings))
    while b"READY> " not in shown:
        shown.extend(os.read(terminal, 4096))
    os.write(terminal, line.encode() + b"\x18a\x18d")
    # The terminal has to be read as well, or the shell would wait for room in it.
    with os.fdopen(os.open(dump, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        result = b""
        while not result.endswith(b"\n"):
            for source in select.select([pipe, terminal], [], [])[0]:
                if source is pipe:
                    result += pipe.read() or b""
                else:
                    shown.extend(os.read(terminal, 4096))
    os.close(terminal)
    os.waitpid(child, 0)
    return result.decode()[:-1]


def main():
    shell, script, directory, line = sys.argv[1:]
    folder = tempfile.TemporaryDirectory()

    def last_words():
        print(f"the shell has shown {bytes(shown)}", file=sys.stderr)
        folder.cleanup()

    patience.watch(last_words)
    with folder as own:
        settings = {"SCRIPT": script, "DUMP": os.path.join(own, "dump"), "ZDOTDIR": own, "XDG_CONFIG_HOME": own}
        settings["XDG_DATA_HOME"] = own
        if shell == "fish":
            code = 'source $SCRIPT; complete -C $argv[1]'
            ended = subprocess.run(
                ["fish", "--no-config", "-c", code, line], cwd=directory, env=variables(settings), check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            for candidate in ended.stdout.decode().splitlines():
                print(candidate.split("\t")[0])
            return
        rc = os.path.join(own, ".zshrc" if shell == "zsh" else "bashrc")
        with open(rc, "w", encoding="utf-8") as file:
            file.write(ZSH if shell == "zsh" else BASH)
        command = ["zsh", "-i"] if shell == "zsh" else ["bash", "--noprofile", "--rcfile", rc, "-i"]
        completed = with_keys(command, settings, directory, line)
        if completed == line:
            return
        # The words before the last one are as they were typed.
        start = line[: line.rfind(" ") + 1]
        if not completed.startswith(start):
            sys.exit(f"the line was changed: {completed}")
        for candidate in completed[len(start):].split():
            print(candidate)


main()
