-- The log of each shared conversation. `team` comes first in every key, so it can be the key of partitions or shards.

CREATE TABLE hub.repository (
    team uuid NOT NULL REFERENCES hub.team,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    root_commit text NOT NULL CHECK (length(root_commit) <= 64),
    remote text NOT NULL CHECK (length(remote) <= 1000),
    head_seq bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (team, id),
    UNIQUE (team, root_commit, remote)
);

CREATE TABLE hub.conversation (
    team uuid NOT NULL REFERENCES hub.team,
    id text NOT NULL CHECK (id ~ '^[0-9a-f-]{32,36}$'),
    repository uuid,
    owner uuid NOT NULL REFERENCES hub.member,
    parent text,
    fork_message_id int NOT NULL DEFAULT 0 CHECK (fork_message_id >= 0),
    title text NOT NULL CHECK (length(title) <= 300),
    model text NOT NULL CHECK (length(model) <= 300),
    created_at text NOT NULL CHECK (created_at ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,19})?Z$'),
    -- A name that cannot be guessed: NOTIFY has no access control, but only readers see this row.
    channel text NOT NULL DEFAULT 'hub_' || replace(gen_random_uuid()::text, '-', ''),
    format int NOT NULL DEFAULT 1,  -- the highest of its entries; an older product only reads
    head_seq bigint NOT NULL DEFAULT 0,
    next_message_id int NOT NULL DEFAULT 0,
    head_digest text,
    digest_version int NOT NULL DEFAULT 1,  -- of the newest message of its own; it never falls
    epoch bigint NOT NULL DEFAULT 0,
    lease_member uuid,
    lease_store text,
    lease_holder text,
    lease_until timestamptz,
    unshared_at timestamptz,
    PRIMARY KEY (team, id),
    FOREIGN KEY (team, repository) REFERENCES hub.repository
);

-- Gapless by seq in the order of commits, because push counts under the lock of the conversation's row. Never changed
-- but by a purge.
CREATE TABLE hub.entry (
    team uuid NOT NULL,
    conversation text NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('message', 'turn', 'hidden', 'summary', 'title', 'purge')),
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    author uuid NOT NULL,
    restored_by uuid,  -- who pushed it again, after the hub was restored without it
    format int NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    message_id int,
    said_at text CHECK (said_at ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,19})?Z$'),
    turn text CHECK (length(turn) <= 100),
    role text CHECK (role IN ('user', 'assistant', 'tool')),
    digest_version int CHECK (digest_version IN (1, 2)),
    content_digest text CHECK (content_digest ~ '^[0-9a-f]{64}$'),
    digest text CHECK (digest ~ '^[0-9a-f]{64}$'),
    body text CHECK (octet_length(body) <= 1048576),
    gone text CHECK (gone IN ('purged', 'withheld')),
    PRIMARY KEY (team, conversation, seq),
    UNIQUE (team, conversation, kind, key),
    FOREIGN KEY (team, conversation) REFERENCES hub.conversation,
    CHECK ((body IS NULL) = (gone IS NOT NULL)),
    CHECK (kind <> 'message' OR (message_id, said_at, role, digest_version, content_digest, digest) IS NOT NULL)
);

-- The row of a conversation, locked, when the caller may write it; with p_epoch only when he holds its lease.
CREATE FUNCTION hub.locked(p_team uuid, p_conversation text, p_store text, p_epoch bigint) RETURNS hub.conversation
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found hub.conversation;
BEGIN
    PERFORM hub.require_role(p_team, '{writer,admin}', 'You may not write in this team.');
    SELECT * INTO found FROM hub.conversation WHERE team = p_team AND id = p_conversation FOR UPDATE;
    IF found.id IS NULL OR found.unshared_at IS NOT NULL THEN
        PERFORM hub.refuse('not_shared', 'This conversation is not shared with this team.');
    END IF;
    IF p_epoch IS NOT NULL AND (
        p_store IS NULL  -- what a lease that was given back holds
        OR (found.lease_member, found.lease_store, found.epoch) IS DISTINCT FROM (hub.me(), p_store, p_epoch)
    ) THEN
        PERFORM hub.refuse('lease_lost', 'Another store has taken this conversation over.');
    END IF;
    RETURN found;
END
$$;

-- The newest format of entries that the functions here were written for. A higher one would lock everybody out.
CREATE FUNCTION hub.newest_format() RETURNS int
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT 1 $$;

-- The forks, and their forks, that begin with messages of the conversation from p_start on. n_common: they have the
-- messages below it.
CREATE FUNCTION hub.forks_of(p_team uuid, p_conversation text, p_start int) RETURNS TABLE (id text, n_common int)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE below AS (
        SELECT c.id, c.fork_message_id AS n_common FROM hub.conversation c
        WHERE c.team = p_team AND c.parent = p_conversation AND c.fork_message_id > p_start
        UNION
        SELECT c.id, least(c.fork_message_id, b.n_common) FROM below b JOIN hub.conversation c
            ON c.team = p_team AND c.parent = b.id AND least(c.fork_message_id, b.n_common) > p_start
    ) SELECT b.id, max(b.n_common) FROM below b GROUP BY b.id ORDER BY b.id
$$;

-- The digest of the message p_message of a conversation, which may be one that it was forked with; NULL where there is none.
-- No purge comes between.
CREATE FUNCTION hub.digest_at(p_team uuid, p_conversation text, p_message int) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    holder text := p_conversation;
    above record;
BEGIN
    LOOP
        SELECT parent, fork_message_id INTO above FROM hub.conversation WHERE team = p_team AND id = holder FOR SHARE;
        EXIT WHEN NOT FOUND OR above.parent IS NULL OR above.fork_message_id <= p_message;
        holder := above.parent;
    END LOOP;
    RETURN (
        SELECT digest FROM hub.entry
        WHERE team = p_team AND conversation = holder AND kind = 'message' AND message_id = p_message
    );
END
$$;

-- Begins to share a conversation. Sharing it again changes nothing. The log of a fork begins with the purges of what it
-- begins with, so that no store pushes what it made of purged words before it heard of that.
CREATE FUNCTION hub.share(
    p_team uuid, p_conversation text, p_repository uuid, p_parent text, p_fork int, p_title text, p_model text, p_at text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here hub.conversation;
    before text;
BEGIN
    PERFORM hub.require_role(p_team, '{writer,admin}', 'You may not write in this team.');
    IF p_parent IS NULL AND p_fork <> 0 THEN
        PERFORM hub.refuse('malformed', 'A conversation without a parent begins with message 0.');
    ELSIF p_parent IS NOT NULL THEN  -- chained to a message that is here
        before := hub.digest_at(p_team, p_parent, p_fork - 1);
        IF before IS NULL OR EXISTS (
            SELECT FROM hub.conversation WHERE team = p_team AND id = p_parent AND unshared_at IS NOT NULL
        ) THEN
            PERFORM hub.refuse('no_parent', 'The conversation that this is a fork of is not shared with this team.');
        END IF;
    END IF;
    INSERT INTO hub.conversation (team, id, repository, owner, parent, fork_message_id, title, model, created_at,
                                  next_message_id, head_digest)
    VALUES (p_team, p_conversation, p_repository, hub.me(), p_parent, p_fork, left(p_title, 300), p_model, p_at,
            p_fork, before)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO hub.entry (team, conversation, seq, kind, key, author, format, body)
        SELECT p_team, p_conversation, row_number() OVER (ORDER BY seq), kind, left('copied ' || key, 200), author,
               e.format, body
        FROM hub.entry e WHERE team = p_team AND conversation = p_parent AND kind = 'purge'
            AND (body::json ->> 0)::int < p_fork;
        UPDATE hub.conversation SET
            head_seq = (SELECT count(*) FROM hub.entry WHERE team = p_team AND conversation = p_conversation)
        WHERE team = p_team AND id = p_conversation;
        INSERT INTO hub.audit (team, member, action, subject) VALUES (p_team, hub.me(), 'share', p_conversation);
        RETURN;
    END IF;
    SELECT * INTO here FROM hub.conversation WHERE team = p_team AND id = p_conversation;
    IF here.unshared_at IS NOT NULL THEN
        PERFORM hub.refuse('unshared', 'This conversation was shared once and is no longer. Share a copy of it.');
    ELSIF here.owner <> hub.me() THEN
        PERFORM hub.refuse('taken', 'Another member shares this conversation already.');
    END IF;
END
$$;

-- Takes the lease, and answers how far the conversation has come. The server's clock says only when another store may
-- take it; the epoch says which store's writes count.
CREATE FUNCTION hub.lease(
    p_team uuid, p_conversation text, p_store text, p_holder text, p_format int, p_seconds int DEFAULT 30
) RETURNS TABLE (epoch bigint, head_seq bigint, next_message_id int, head_digest text, incarnation text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation := hub.locked(p_team, p_conversation, p_store, NULL);
BEGIN
    IF p_store IS NULL OR length(p_store) NOT BETWEEN 1 AND 64 THEN
        PERFORM hub.refuse('malformed', 'The id of a store has 1 to 64 characters.');
    ELSIF c.format > p_format THEN
        PERFORM hub.refuse('upgrade',
            'This conversation was continued by a newer Palimpsest. Install the newest version to go on.');
    ELSIF c.lease_store IS NOT NULL AND c.lease_until > clock_timestamp()
        AND c.lease_until <= clock_timestamp() + interval '5 min'  -- else the clock was set back, and it is an old one
        AND (c.lease_member, c.lease_store) IS DISTINCT FROM (hub.me(), p_store)
    THEN
        PERFORM hub.refuse('busy', (SELECT name FROM hub.member WHERE id = c.lease_member) || ' is writing here: '
            || c.lease_holder || '.', c.lease_until);
    END IF;
    UPDATE hub.conversation t SET
        epoch = c.epoch + 1, lease_member = hub.me(), lease_store = p_store,
        lease_holder = left(coalesce(p_holder, ''), 100),
        lease_until = clock_timestamp() + make_interval(secs => greatest(1, least(p_seconds, 300)))
    WHERE t.team = p_team AND t.id = p_conversation;
    DELETE FROM hub.live WHERE team = p_team AND conversation = p_conversation;
    PERFORM pg_notify(c.channel, '');
    RETURN QUERY SELECT c.epoch + 1, c.head_seq, c.next_message_id, c.head_digest, i.id::text FROM hub.incarnation i;
END
$$;

-- Keeps the lease for so many seconds more; with 0 seconds it is given back.
CREATE FUNCTION hub.renew(p_team uuid, p_conversation text, p_store text, p_epoch bigint, p_seconds int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation := hub.locked(p_team, p_conversation, p_store, coalesce(p_epoch, -1));
BEGIN
    UPDATE hub.conversation SET
        lease_until = clock_timestamp() + make_interval(secs => greatest(0, least(p_seconds, 300))),
        lease_store = CASE WHEN p_seconds > 0 THEN lease_store END
    WHERE team = p_team AND id = p_conversation;
    IF p_seconds <= 0 THEN  -- followers show that nobody writes any more
        DELETE FROM hub.live WHERE team = p_team AND conversation = p_conversation;
        PERFORM pg_notify(c.channel, '');
    END IF;
END
$$;

-- Gives the lease back that a store of the caller may hold, when he does not know whether he got it.
CREATE FUNCTION hub.let_go(p_team uuid, p_conversation text, p_store text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation := hub.locked(p_team, p_conversation, NULL, NULL);
BEGIN
    IF (c.lease_member, c.lease_store) IS NOT DISTINCT FROM (hub.me(), p_store) THEN
        UPDATE hub.conversation SET epoch = epoch + 1, lease_store = NULL WHERE team = p_team AND id = p_conversation;
        DELETE FROM hub.live WHERE team = p_team AND conversation = p_conversation;
        PERFORM pg_notify(c.channel, '');
    END IF;
END
$$;

-- The owner or an admin ends the sharing. The text leaves the hub; the header stays, so that the other stores notice. Of
-- messages that shared forks begin with, digests and authors stay: the forks are chained to them, and who wrote them may
-- still have them purged there.
CREATE FUNCTION hub.unshare(p_team uuid, p_conversation text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation := hub.locked(p_team, p_conversation, NULL, NULL);
BEGIN
    IF c.owner <> hub.me() AND NOT p_team = ANY (hub.teams('{admin}')) THEN
        PERFORM hub.refuse('forbidden', 'Only its owner or an admin of the team may end the sharing.');
    END IF;
    DELETE FROM hub.entry WHERE team = p_team AND conversation = p_conversation AND NOT (
        kind = 'message' AND message_id < (
            SELECT coalesce(max(f.n_common), 0) FROM hub.forks_of(p_team, p_conversation, -1) f
            JOIN hub.conversation n ON n.team = p_team AND n.id = f.id AND n.unshared_at IS NULL
        )
    );
    UPDATE hub.entry SET body = NULL, gone = 'purged' WHERE team = p_team AND conversation = p_conversation;
    DELETE FROM hub.live WHERE team = p_team AND conversation = p_conversation;
    UPDATE hub.conversation SET unshared_at = clock_timestamp(), title = '', lease_store = NULL, epoch = epoch + 1
    WHERE team = p_team AND id = p_conversation;
    INSERT INTO hub.audit (team, member, action, subject) VALUES (p_team, hub.me(), 'unshare', p_conversation);
    PERFORM pg_notify(c.channel, '');
END
$$;

-- The id of a repository in a team, which is made when it is new.
CREATE FUNCTION hub.repository_id(p_team uuid, p_root text, p_remote text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM hub.require_role(p_team, '{writer,admin}', 'You may not write in this team.');
    INSERT INTO hub.repository (team, root_commit, remote) VALUES (p_team, p_root, p_remote) ON CONFLICT DO NOTHING;
    RETURN (SELECT id FROM hub.repository WHERE team = p_team AND root_commit = p_root AND remote = p_remote);
END
$$;

-- An admin of the team gives a role to a member whom the hub knows, or takes it ('left'). Every member may leave.
CREATE FUNCTION hub.set_membership(p_team uuid, p_member uuid, p_role text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT (p_role = 'left' AND p_member = hub.me() AND p_team = ANY (hub.teams())) THEN
        PERFORM hub.require_role(p_team, '{admin}', 'Only an admin of the team may do that.');
    END IF;
    INSERT INTO hub.membership VALUES (p_team, p_member, p_role)
    ON CONFLICT (team, member) DO UPDATE SET role = excluded.role;
    IF p_role IN ('left', 'reader') THEN  -- whatever he still writes comes too late
        UPDATE hub.conversation SET lease_store = NULL, epoch = epoch + 1
        WHERE team = p_team AND lease_member = p_member AND lease_store IS NOT NULL;
    END IF;
    INSERT INTO hub.audit (team, member, action, subject, detail)
    VALUES (p_team, hub.me(), 'membership', p_member::text, p_role);
END
$$;

ALTER TABLE hub.repository ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.repository FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));
ALTER TABLE hub.conversation ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.conversation FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));
ALTER TABLE hub.entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.entry FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hub FROM PUBLIC;
GRANT SELECT ON hub.repository, hub.conversation, hub.entry TO hub_member;
GRANT EXECUTE ON FUNCTION hub.share, hub.lease, hub.renew, hub.let_go, hub.unshare, hub.repository_id, hub.set_membership
    TO hub_member;
