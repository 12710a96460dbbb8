"""A cluster in one machine: hosts in namespaces of their own, real servers, faults, and an oracle.

namespaces.py   the network of the cluster, and a host as the kernel sees it; works without root
host_init.py    process 1 of a host
host.py         a host: its home directory, its clone of the project, its worker
remote.py       the remote repository, served by `git daemon`, and a fake GitHub
agent.py        the agents, and the log that all of them write to
lab.py          everything together: start it, create tasks, wait for them, collect the evidence
histories.py    the size of the workflows on the server, as a program
copy_task.py    copies of a waiting task, as a program
evidence.py     what was seen: the log of the agents, the journal, the remote
oracle.py       what must be true of it, whatever failed
faults.py       the faults; `python -m cluster NAME` from tests/ runs one of them
"""
