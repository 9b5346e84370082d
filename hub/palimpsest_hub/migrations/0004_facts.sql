-- Facts about a repository. What a fact says never changes; its standing does, and then it gets a new seq.

CREATE TABLE hub.fact (
    team uuid NOT NULL,
    repository uuid NOT NULL,
    key text NOT NULL CHECK (key ~ '^[0-9a-f]{64}$'),
    seq bigint NOT NULL,
    standing text NOT NULL CHECK (standing IN ('open', 'closed', 'forgotten')),
    author uuid NOT NULL,
    body text CHECK (octet_length(body) <= 262144),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, repository, key, author),  -- else who guesses a statement keeps the words of others out
    FOREIGN KEY (team, repository) REFERENCES hub.repository,
    CHECK ((body IS NULL) = (standing = 'forgotten'))
);
CREATE INDEX fact_seq ON hub.fact (team, repository, seq);

-- Takes facts up, and answers the seq of the newest change. A forgotten fact stays forgotten; otherwise the last word
-- counts for the fact of that key, whoever noted it, in the order in which the hub hears it. Other words under a key that
-- another member has taken stand beside his: what he wrote there may be no fact at all, which the stores find out.
CREATE FUNCTION hub.push_facts(p_team uuid, p_repository uuid, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head bigint;
    n int;
    f record;
BEGIN
    PERFORM hub.require_role(p_team, '{writer,admin}', 'You may not write in this team.');
    SELECT head_seq INTO head FROM hub.repository WHERE team = p_team AND id = p_repository FOR UPDATE;
    IF head IS NULL THEN
        PERFORM hub.refuse('not_shared', 'The facts of this repository are not shared with this team.');
    ELSIF jsonb_array_length(p_facts) > 1000 THEN
        PERFORM hub.refuse('too_large', 'At most 1,000 facts may be pushed at once.');
    END IF;
    FOR f IN SELECT * FROM jsonb_to_recordset(p_facts) AS x(key text, standing text, body text) LOOP
        IF octet_length(f.body) > 262144 THEN
            PERFORM hub.refuse('too_large', 'A fact has over 256 KiB.');
        ELSIF (f.key ~ '^[0-9a-f]{64}$' AND f.standing IN ('open', 'closed', 'forgotten')
            AND (f.body IS NULL) = (f.standing = 'forgotten')) IS NOT TRUE
        THEN
            PERFORM hub.refuse('malformed', 'The hub does not take a value of this form.');
        END IF;
        CONTINUE WHEN EXISTS (
            SELECT FROM hub.fact WHERE team = p_team AND repository = p_repository AND key = f.key
                AND standing = 'forgotten'
        );
        UPDATE hub.fact t SET
            seq = head + n.n, standing = f.standing, changed_at = clock_timestamp(),
            body = CASE WHEN f.standing <> 'forgotten' THEN t.body END
        FROM (
            SELECT author, row_number() OVER (ORDER BY seq) AS n FROM hub.fact
            WHERE team = p_team AND repository = p_repository AND key = f.key AND standing <> f.standing
        ) AS n
        WHERE t.team = p_team AND t.repository = p_repository AND t.key = f.key AND t.author = n.author;
        GET DIAGNOSTICS n = ROW_COUNT;
        IF n = 0 THEN
            INSERT INTO hub.fact (team, repository, key, seq, standing, author, body)
            SELECT p_team, p_repository, f.key, head + 1, f.standing, hub.me(), f.body
            WHERE NOT EXISTS (
                SELECT FROM hub.fact WHERE team = p_team AND repository = p_repository AND key = f.key
                    AND (f.standing <> 'open' OR body = f.body)
            )
            ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS n = ROW_COUNT;
        END IF;
        head := head + n;
        IF n > 0 AND f.standing = 'forgotten' THEN  -- for everybody and for good
            INSERT INTO hub.audit (team, member, action, subject, detail)
            VALUES (p_team, hub.me(), 'forget', p_repository::text, f.key);
        END IF;
    END LOOP;
    UPDATE hub.repository SET head_seq = head WHERE team = p_team AND id = p_repository;
    RETURN head;
END
$$;

ALTER TABLE hub.fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.fact FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hub FROM PUBLIC;
GRANT SELECT ON hub.fact TO hub_member;
GRANT EXECUTE ON FUNCTION hub.push_facts TO hub_member;
