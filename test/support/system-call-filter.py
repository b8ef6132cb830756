"""Runs a command under the system call filter of a unit: system-call-filter.py UNIT COMMAND [ARGUMENT ...]

systemd-analyze lists the calls of each set, such as @system-service. libseccomp, which systemd also uses, loads the
filter.
"""

import ctypes
import os
import subprocess
import sys

ALLOW, EPERM = 0x7FFF0000, 0x00050000 | 1


def read_sets():
    listed = subprocess.run(['systemd-analyze', 'syscall-filter'], capture_output=True, text=True, check=True).stdout
    sets, current = {}, None
    for line in listed.splitlines():
        if line.startswith('@'):
            current = sets.setdefault(line.strip(), [])
        elif line.startswith('    ') and current is not None:
            if not line.strip().startswith('#'):
                current.append(line.strip())
        elif line.strip():
            current = None
    return sets


SETS = read_sets()


def calls_of(word):
    return {word} if not word.startswith('@') else set().union(*map(calls_of, SETS[word]))


def allowed_calls(unit):
    allowed = set()
    for line in open(unit):
        if not line.startswith('SystemCallFilter='):
            continue
        value = line.partition('=')[2].strip()
        calls = set().union(*map(calls_of, value.lstrip('~').split()))
        allowed = allowed - calls if value.startswith('~') else allowed | calls
    # systemd always allows these calls.
    return allowed | calls_of('@default')


unit, *command = sys.argv[1:]
library = ctypes.CDLL('libseccomp.so.2')
library.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(library.seccomp_init(EPERM))
for call in allowed_calls(unit):
    number = library.seccomp_syscall_resolve_name(call.encode())
    # A call that exists only on other architectures has no number here.
    if number >= 0 and library.seccomp_rule_add(context, ALLOW, number, 0) != 0:
        sys.exit(f'no rule for {call}')
if library.seccomp_load(context) != 0:
    sys.exit('the filter was not loaded')
os.execvp(command[0], command)
