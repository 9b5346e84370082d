-- Who is who. Run as the role hub_owner, which the set-up makes: plain PostgreSQL 13 or newer, no extension, no superuser.
-- Members read through row-level security and write through functions only, so no member can write under another name,
-- out of order, without the lease, or a message that does not follow from the digests before it.

CREATE SCHEMA hub;
REVOKE ALL ON SCHEMA hub FROM PUBLIC;

CREATE TABLE hub.migration (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
-- `hub` is this hub's id for ever. `id` is another one after a restore, so that a store notices that entries may be gone.
CREATE TABLE hub.incarnation (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    hub uuid NOT NULL DEFAULT gen_random_uuid(),
    restored_at timestamptz
);
INSERT INTO hub.incarnation DEFAULT VALUES;

CREATE TABLE hub.team (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200)
);
CREATE TABLE hub.member (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    login name UNIQUE  -- NULL for a member who comes by a shared login, with a token
);
CREATE TABLE hub.membership (
    team uuid NOT NULL REFERENCES hub.team,
    member uuid NOT NULL REFERENCES hub.member,
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'admin', 'left')),  -- left: only the name stays visible
    PRIMARY KEY (team, member)
);
CREATE INDEX membership_member ON hub.membership (member);

-- For logins that members share, so that a pooler can keep few connections. Only digests are here.
CREATE TABLE hub.token (
    digest text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    member uuid NOT NULL REFERENCES hub.member,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);

CREATE TABLE hub.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    team uuid NOT NULL,
    member uuid,  -- NULL for the hub's administrator
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL DEFAULT ''
);
CREATE INDEX audit_team ON hub.audit (team, id);

-- The member who calls: the one of the login, or behind a shared login the one of the transaction's token. It asks
-- session_user, because a function that may write runs as its owner. The setting holds the secret and not a name,
-- because every user of the login can write a setting.
CREATE FUNCTION hub.me() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        (SELECT id FROM hub.member WHERE login = session_user),
        (SELECT member FROM hub.token
         WHERE digest = encode(sha256(convert_to(current_setting('hub.token', true), 'UTF8')), 'hex')
           AND expires_at > now() AND revoked_at IS NULL)
    )
$$;

-- The teams in which the caller has one of the roles.
CREATE FUNCTION hub.teams(p_roles text[] DEFAULT '{reader,writer,admin}') RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(team), '{}') FROM hub.membership
    WHERE member = hub.me() AND role = ANY (p_roles) AND role <> 'left'
$$;

-- A refusal: the client gets the sentence as the message, the kind as the detail and a time as the hint.
CREATE FUNCTION hub.refuse(p_kind text, p_sentence text, p_until timestamptz DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = p_sentence, ERRCODE = 'HB001', DETAIL = p_kind,
        HINT = coalesce(to_char(p_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '');
END
$$;

CREATE FUNCTION hub.require_role(p_team uuid, p_roles text[], p_sentence text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF hub.me() IS NULL THEN
        PERFORM hub.refuse('token', 'The hub does not know this login or token, or it has expired. '
            || 'Ask the hub''s administrator for a new token.');
    END IF;
    IF (p_team = ANY (hub.teams(p_roles))) IS NOT TRUE THEN
        PERFORM hub.refuse('forbidden', p_sentence);
    END IF;
END
$$;

ALTER TABLE hub.team ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.team FOR SELECT TO hub_member USING (id = ANY ((SELECT hub.teams())::uuid[]));
ALTER TABLE hub.membership ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.membership FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams())::uuid[]));
ALTER TABLE hub.member ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_teams ON hub.member FOR SELECT TO hub_member
    USING (id = (SELECT hub.me()) OR id IN (SELECT member FROM hub.membership));
ALTER TABLE hub.token ENABLE ROW LEVEL SECURITY;  -- without a policy: the owner's functions alone see it
ALTER TABLE hub.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY admins ON hub.audit FOR SELECT TO hub_member USING (team = ANY ((SELECT hub.teams('{admin}'))::uuid[]));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hub FROM PUBLIC;
GRANT USAGE ON SCHEMA hub TO hub_member;
GRANT SELECT ON hub.migration, hub.incarnation, hub.team, hub.member, hub.membership, hub.audit TO hub_member;
GRANT EXECUTE ON FUNCTION hub.me, hub.teams TO hub_member;
