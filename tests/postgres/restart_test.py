#!/usr/bin/env python3
"""The database server crashes and is restarted while processes use it: they reconnect, and nothing
that was accepted is lost. Prints TAP.

Usage: restart_test.py MODULE_DIR STEADY
"""
import signal
import sys
import time

sys.dont_write_bytecode = True
import server
import steady

TURNS = 40  # jobs that each must get accepted between two disasters


def main():
    module_dir, program = sys.argv[1:3]
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return
    with server.Server("fsync = on\n") as postgres:
        clients = [steady.Steady(program, postgres.url, module_dir) for _ in range(2)]
        for how in (signal.SIGQUIT, signal.SIGINT):
            for one in clients:
                one.await_accepted(TURNS)
            postgres.stop(how)
            time.sleep(0.3)  # long enough that somebody meets a server that is not there
            postgres.start()
        for one in clients:
            one.await_accepted(TURNS)
            one.close()
        wrong = steady.audit(postgres, clients)
        print(f"{'not ok' if wrong else 'ok'} 1 - processes_go_on_and_nothing_is_lost")
        for line in wrong:
            print("#", line)
    print("1..1")


if __name__ == "__main__":
    main()
