"""A hub: conversations and facts that members of a team share between their stores, in a PostgreSQL they all reach.

This package is the only one that knows PostgreSQL, and it knows nothing of the server but its domain. Import it where
it is used, not when the server starts: psycopg comes with the extra `hub`.

    from palimpsest_hub.client import Hub                          # the calls of a member; see its methods
    from palimpsest_hub.errors import HubRefused, HubUnreachable   # the two ways in which they fail
    from palimpsest_hub.records import Lease, Head, LiveView       # what they answer, beside entries of the log

    async with Hub(address, password=None, token=None, listen_address=None, timeout_s=30.0) as hub:
        await hub.share(team, NewConversation(id, title, model, created_at, parent, fork_at, repository))
        lease = await hub.lease(team, conversation, store, "a turn")      # busy: HubRefused("busy", ..., until)
        head = await hub.push(lease, entries)                             # of domain.sharing.log.NewEntry
        await hub.say(lease, turn, first_seq, frames)
        await hub.release(lease)
        view = await hub.live(team, conversation, turn, after_frame)
        new = await hub.entries(team, conversation, after_entry)          # domain.sharing.log.Entry
        async for _ in hub.wakings(shared.channel): ...                   # look again now

`migrations/` is the schema, `migration.set_up` applies it, and `administration` adds teams, members and tokens.
"""
