-- What the holder of a lease writes: frames of the running step, entries, purges. And how far each store has come.

-- What a running step has shown. Its messages replace it: push and the next lease delete it. Frames of an older epoch
-- are not shown, so a writer that was taken over needs no lock to be ignored.
CREATE TABLE hub.live (
    team uuid NOT NULL,
    conversation text NOT NULL,
    epoch bigint NOT NULL,
    turn text NOT NULL CHECK (length(turn) BETWEEN 1 AND 100),
    seq int NOT NULL,
    body text NOT NULL CHECK (octet_length(body) <= 65536),
    PRIMARY KEY (team, conversation, epoch, turn, seq)
);

CREATE TABLE hub.replica (  -- presence, and how far a purge has come
    team uuid NOT NULL,
    conversation text NOT NULL,
    store text NOT NULL CHECK (length(store) BETWEEN 1 AND 64),
    member uuid NOT NULL,
    applied_seq bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (team, conversation, store, member),  -- what a member says of the store of another is nobody's word
    FOREIGN KEY (team, conversation) REFERENCES hub.conversation
);

-- Shows frames to those who follow. p_first is the seq of the first one. Frames that came already are passed over.
CREATE FUNCTION hub.say(
    p_team uuid, p_conversation text, p_store text, p_epoch bigint, p_turn text, p_first int, p_bodies text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation;
BEGIN
    -- The writer's store has it durably: no need to wait for this disk, nor to hold NOTIFY's lock meanwhile.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO c FROM hub.conversation WHERE team = p_team AND id = p_conversation;
    IF hub.me() IS NULL OR p_store IS NULL
        OR (c.lease_member, c.lease_store, c.epoch) IS DISTINCT FROM (hub.me(), p_store, p_epoch)
    THEN
        PERFORM hub.refuse('lease_lost', 'Another store has taken this conversation over.');
    ELSIF cardinality(p_bodies) > 200 THEN
        PERFORM hub.refuse('too_large', 'At most 200 frames may be shown at once.');
    END IF;
    INSERT INTO hub.live
    SELECT p_team, p_conversation, p_epoch, p_turn, p_first + n - 1, body
    FROM unnest(p_bodies) WITH ORDINALITY AS b(body, n)
    ON CONFLICT DO NOTHING;
    PERFORM pg_notify(c.channel, '');
END
$$;

-- The digest of a message, as the product derives it (palimpsest/domain/conversation/chain.py): of canonical JSON, which
-- has its keys in order, no spaces and no escapes but JSON's own. Version 2 covers the author.
CREATE FUNCTION hub.message_digest(
    p_version int, p_before text, p_conversation text, p_id int, p_at text, p_turn text, p_author uuid, p_content text
) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(sha256(convert_to(concat(
        '[', coalesce(to_json(p_before)::text, 'null'),
        ',{', CASE WHEN p_version >= 2 THEN concat('"author":', to_json(p_author::text), ',') END,
        '"conversation":', to_json(p_conversation),
        ',"created_at":', to_json(p_at),
        ',"id":', p_id,
        ',"turn":', coalesce(to_json(p_turn)::text, 'null'),
        ',"version":', p_version,
        '},', to_json(p_content), ']'), 'UTF8')), 'hex')
$$;

-- Appends those of p_entries that are new, and answers how far the conversation has come. Pushing them again changes
-- nothing. The author is the caller, and the digests are derived here, so none of it can be forged. Only for 30 days
-- after the hub was restored from a backup may members push what others had said: it is marked with who did.
CREATE FUNCTION hub.push(
    p_team uuid, p_conversation text, p_store text, p_epoch bigint, p_format int, p_entries jsonb
) RETURNS TABLE (head_seq bigint, next_message_id int, head_digest text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation := hub.locked(p_team, p_conversation, p_store, coalesce(p_epoch, -1));
    mine uuid := hub.me();
    is_restored boolean := (SELECT restored_at > clock_timestamp() - interval '30 days' FROM hub.incarnation);
    e record;
    n int;
BEGIN
    IF jsonb_array_length(p_entries) > 1000 THEN
        PERFORM hub.refuse('too_large', 'At most 1,000 entries may be pushed at once.');
    ELSIF (p_format BETWEEN 1 AND hub.newest_format()) IS NOT TRUE THEN
        PERFORM hub.refuse('schema', 'The hub does not know this format of entries yet. Ask its administrator to run '
            || '`palimpsest hub setup` with the newest Palimpsest.');
    END IF;
    FOR e IN SELECT * FROM jsonb_to_recordset(p_entries) AS x(
        kind text, key text, message_id int, said_at text, turn text, role text, digest_version int,
        author uuid, content_digest text, digest text, body text, gone text
    ) LOOP
        IF e.kind IS NULL OR e.kind NOT IN ('message', 'turn', 'hidden', 'summary', 'title') THEN
            PERFORM hub.refuse('forbidden', 'An entry of this kind cannot be pushed.');
        ELSIF octet_length(e.body) > 1048576 THEN
            PERFORM hub.refuse('too_large', 'An entry has over 1 MiB.');
        ELSIF e.kind = 'title' AND length(e.body) > 300 THEN
            PERFORM hub.refuse('too_large', 'A title has over 300 characters.');
        ELSIF e.kind = 'message' AND e.message_id < c.next_message_id THEN
            PERFORM FROM hub.entry t WHERE t.team = p_team AND t.conversation = p_conversation
                AND t.kind = 'message' AND t.message_id = e.message_id AND t.digest = e.digest;
            IF NOT FOUND THEN
                PERFORM hub.refuse('diverged', 'The hub has another message there.');
            END IF;
            CONTINUE;
        ELSIF e.kind = 'message' THEN
            IF e.message_id IS DISTINCT FROM c.next_message_id OR e.key IS DISTINCT FROM e.message_id::text THEN
                PERFORM hub.refuse('gap', 'Messages are missing before this one.');
            ELSIF coalesce(e.digest_version, 1) NOT IN (1, 2) OR coalesce(e.digest_version, 1) < c.digest_version THEN
                PERFORM hub.refuse('digest', 'The version of a digest is unknown, or older than the one before it.');
            ELSIF e.author <> mine AND (is_restored IS NOT TRUE OR NOT EXISTS (
                SELECT FROM hub.membership WHERE team = p_team AND member = e.author
            )) THEN
                PERFORM hub.refuse('author', 'Another member wrote this message. If the hub was restored from a backup, '
                    || 'its administrator has to run `palimpsest hub setup --restored`.');
            ELSIF e.digest IS DISTINCT FROM hub.message_digest(coalesce(e.digest_version, 1), c.head_digest,
                    p_conversation, e.message_id, e.said_at, e.turn, coalesce(e.author, mine), e.content_digest)
                OR (e.body IS NOT NULL
                    AND e.content_digest IS DISTINCT FROM encode(sha256(convert_to(e.body, 'UTF8')), 'hex'))
            THEN
                PERFORM hub.refuse('digest', 'A digest does not follow from the message and those before it.');
            ELSIF e.body IS NOT NULL AND (e.body::json -> 'role')::text IS DISTINCT FROM to_json(e.role)::text THEN
                PERFORM hub.refuse('malformed', 'The role of a message is not the one in its text.');
            END IF;
        END IF;
        INSERT INTO hub.entry AS t (team, conversation, seq, kind, key, author, restored_by, format, message_id, said_at,
                                    turn, role, digest_version, content_digest, digest, body, gone)
        SELECT p_team, p_conversation, c.head_seq + 1, e.kind, e.key, coalesce(m.author, mine),
               CASE WHEN m.author <> mine THEN mine END, p_format, m.message_id, m.said_at, m.turn,
               m.role, m.version, m.content_digest, m.digest, e.body, e.gone
        FROM (VALUES (1)) AS one LEFT JOIN LATERAL (
            SELECT e.message_id, e.said_at, e.turn, e.role, coalesce(e.digest_version, 1) AS version,
                   e.author, e.content_digest, e.digest
        ) AS m ON e.kind = 'message'
        ON CONFLICT ON CONSTRAINT entry_team_conversation_kind_key_key DO NOTHING;
        GET DIAGNOSTICS n = ROW_COUNT;
        c.head_seq := c.head_seq + n;
        IF e.kind = 'message' THEN
            c.next_message_id := e.message_id + 1;
            c.head_digest := e.digest;
            c.digest_version := coalesce(e.digest_version, 1);
        ELSIF e.kind = 'title' AND n = 1 THEN
            c.title := e.body;
        END IF;
    END LOOP;
    UPDATE hub.conversation t SET
        head_seq = c.head_seq, next_message_id = c.next_message_id, head_digest = c.head_digest,
        digest_version = c.digest_version, title = c.title, format = greatest(t.format, p_format)
    WHERE t.team = p_team AND t.id = p_conversation;
    DELETE FROM hub.live l WHERE l.team = p_team AND l.conversation = p_conversation;
    PERFORM hub.seen(p_team, p_conversation, p_store, c.head_seq);  -- who writes does so on top of all that is here
    PERFORM pg_notify(c.channel, '');
    RETURN QUERY SELECT c.head_seq, c.next_message_id, c.head_digest;
END
$$;

-- Takes the text of messages [p_start, p_end) out of the hub, with every summary and title, which may speak of them,
-- of this conversation and of the forks that begin with some of them. The digests stay. An entry that is added to each
-- of their logs tells every store to do the same. Whoever writes in such a fork loses his lease, because what he pushes
-- was made before the purge: he takes the purge in first. Without p_store, for a conversation that is shared no longer,
-- whose shared forks may have the messages. Answers the seq of the entry of the conversation itself.
CREATE FUNCTION hub.purge(
    p_team uuid, p_conversation text, p_store text, p_epoch bigint, p_start int, p_end int
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c hub.conversation;
    f hub.conversation;
    fork text;
BEGIN
    IF p_store IS NULL THEN
        PERFORM hub.require_role(p_team, '{writer,admin}', 'You may not write in this team.');
        SELECT * INTO c FROM hub.conversation
        WHERE team = p_team AND id = p_conversation AND unshared_at IS NOT NULL FOR UPDATE;
        IF c.id IS NULL THEN
            PERFORM hub.refuse('lease_lost', 'A purge of a shared conversation needs its lease.');
        END IF;
    ELSE
        c := hub.locked(p_team, p_conversation, p_store, coalesce(p_epoch, -1));
    END IF;
    IF (c.fork_message_id <= p_start AND p_start < p_end AND p_end <= c.next_message_id) IS NOT TRUE THEN
        PERFORM hub.refuse('malformed', 'There are no such messages in this conversation.');
    ELSIF c.owner <> hub.me() AND NOT p_team = ANY (hub.teams('{admin}')) AND EXISTS (
        SELECT FROM hub.entry WHERE team = p_team AND conversation = p_conversation AND kind = 'message'
            AND message_id >= p_start AND message_id < p_end AND author <> hub.me()
    ) THEN
        PERFORM hub.refuse('forbidden', 'Only their author, the owner of the conversation or an admin may purge messages.');
    END IF;
    UPDATE hub.entry SET body = NULL, gone = 'purged' WHERE team = p_team AND conversation = p_conversation
        AND kind = 'message' AND message_id >= p_start AND message_id < p_end;
    IF c.unshared_at IS NULL THEN
        PERFORM hub.forget_derived(c, p_start, p_end, p_conversation);
    END IF;
    FOR fork IN SELECT id FROM hub.forks_of(p_team, p_conversation, p_start) LOOP
        SELECT * INTO f FROM hub.conversation WHERE team = p_team AND id = fork FOR UPDATE;
        IF f.unshared_at IS NULL THEN
            PERFORM hub.forget_derived(f, p_start, p_end, p_conversation);
        END IF;
    END LOOP;
    INSERT INTO hub.audit (team, member, action, subject, detail)
    VALUES (p_team, hub.me(), 'purge', p_conversation, p_start || '-' || p_end);
    RETURN c.head_seq + 1;
END
$$;

-- What a purge does to the conversation p_c, whose row is locked: p_conversation holds the messages.
CREATE FUNCTION hub.forget_derived(p_c hub.conversation, p_start int, p_end int, p_conversation text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE hub.entry SET body = NULL, gone = 'purged'
    WHERE team = p_c.team AND conversation = p_c.id AND kind IN ('summary', 'title');
    INSERT INTO hub.entry (team, conversation, seq, kind, key, author, format, body)
    VALUES (p_c.team, p_c.id, p_c.head_seq + 1, 'purge', p_start || '-' || p_end || '@' || p_c.head_seq, hub.me(),
            p_c.format, json_build_array(p_start, p_end, p_conversation)::text);
    UPDATE hub.conversation SET
        head_seq = p_c.head_seq + 1, title = '',
        epoch = epoch + CASE WHEN id = p_conversation THEN 0 ELSE 1 END,
        lease_store = CASE WHEN id = p_conversation THEN lease_store END
    WHERE team = p_c.team AND id = p_c.id;
    DELETE FROM hub.live WHERE team = p_c.team AND conversation = p_c.id;
    PERFORM pg_notify(p_c.channel, '');
END
$$;

-- Notes how far a store of the caller has come. Of each member the stores that were heard of last are known, because he
-- may tell of as many as he likes.
CREATE FUNCTION hub.seen(p_team uuid, p_conversation text, p_store text, p_seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM hub.require_role(p_team, '{reader,writer,admin}', 'This conversation is not shared with you.');
    -- Locked first, as a push does, which waits for this row otherwise while the row's reference waits for the push.
    PERFORM FROM hub.conversation WHERE team = p_team AND id = p_conversation FOR KEY SHARE;
    INSERT INTO hub.replica VALUES (p_team, p_conversation, p_store, hub.me(), p_seq, clock_timestamp())
    ON CONFLICT (team, conversation, store, member) DO UPDATE
        SET applied_seq = excluded.applied_seq, seen_at = excluded.seen_at;
    DELETE FROM hub.replica r WHERE r.team = p_team AND r.conversation = p_conversation AND r.member = hub.me()
        AND r.store IN (
            SELECT o.store FROM hub.replica o
            WHERE o.team = p_team AND o.conversation = p_conversation AND o.member = hub.me()
            ORDER BY o.seen_at DESC, o.store OFFSET 20
        );
END
$$;

ALTER TABLE hub.live ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.live FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));
ALTER TABLE hub.replica ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.replica FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hub FROM PUBLIC;
GRANT SELECT ON hub.live, hub.replica TO hub_member;
GRANT EXECUTE ON FUNCTION hub.say, hub.push, hub.purge, hub.seen TO hub_member;
