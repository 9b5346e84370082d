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
    PRIMARY KEY (team, repository, key),
    FOREIGN KEY (team, repository) REFERENCES hub.repository,
    CHECK ((body IS NULL) = (standing = 'forgotten'))
);
CREATE INDEX fact_seq ON hub.fact (team, repository, seq);

-- Takes facts up, and answers the seq of the newest change. A forgotten fact stays forgotten; otherwise the last word
-- counts, in the order in which the hub hears it.
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
        END IF;
        INSERT INTO hub.fact AS t (team, repository, key, seq, standing, author, body)
        VALUES (p_team, p_repository, f.key, head + 1, f.standing, hub.me(), f.body)
        ON CONFLICT (team, repository, key) DO UPDATE SET
            seq = excluded.seq, standing = excluded.standing, changed_at = clock_timestamp(),
            body = CASE WHEN excluded.standing <> 'forgotten' THEN t.body END
            WHERE t.standing <> 'forgotten' AND t.standing <> excluded.standing;
        GET DIAGNOSTICS n = ROW_COUNT;
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
