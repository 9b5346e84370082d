"""No secret of a known form reaches a model, everything else does unchanged, and the time grows with the text alone."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.contexts import assistant, context, user
from tests.properties import examples

from palimpsest.domain.messages import AttachmentPart, OpaquePart, TextPart, ToolCallPart, tool_result
from palimpsest.domain.models.redaction import redact, redact_content, redact_context

CHANCE = random.Random(20261122)
ALNUM = string.ascii_letters + string.digits


def some(n: int, of: str = ALNUM) -> str:
    return "".join(CHANCE.choice(of) for _ in range(n))


def pem(kind: str, between: str = "\n") -> str:
    lines = [some(64, ALNUM + "+/") for _ in range(12)]
    return between.join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, "abc=", f"-----END {kind}PRIVATE KEY-----"])


SECRETS = {
    "Anthropic key": f"sk-ant-api03-{some(90)}-{some(6)}",
    "OpenAI key": f"sk-proj-{some(60)}_{some(20)}",
    "OpenRouter key": f"sk-or-v1-{some(64)}",
    "Google API key": f"AIza{some(35)}",
    "GitHub token": f"ghp_{some(36)}",
    "AWS access key": f"AKIA{some(16, string.ascii_uppercase)}",
    "Slack token": f"xoxb-{some(12, string.digits)}-{some(24)}",
    "Stripe key": f"sk_live_{some(24)}",
    "npm token": f"npm_{some(36)}",
    "private key": pem("RSA "),
}
"""Made up, by what the placeholder says."""
ORDINARY = (
    "We ask-everyone about the task-force; sk-learn-contrib-categorical-encoding-something is a package.",
    f"commit {hashlib.sha1(b'x').hexdigest()} and {hashlib.sha256(b'x').hexdigest()}",
    " ".join(str(uuid.UUID(int=CHANCE.getrandbits(128))) for _ in range(20)),
    "data:image/png;base64," + base64.b64encode(CHANCE.randbytes(20_000)).decode(),
    f'"integrity": "sha512-{base64.b64encode(CHANCE.randbytes(64)).decode()}", "resolved": "https://x.test/@a/b-1.tgz"',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + some(43) + " me@host",
    "-----BEGIN CERTIFICATE-----\n" + some(64) + "\n-----END CERTIFICATE-----",
    'if line == "-----BEGIN PRIVATE KEY-----":\n    raise ValueError("a private key stands here")',
    "git+ssh://git@host.test:team/repo.git http://localhost:8080/@vite postgres://user:${PASSWORD}@db/x",
    "postgres://user:password@localhost/db and mysql://root:%s@host, redis://:<password>@host",
    "Authorization: Bearer $TOKEN, then Authorization: Bearer <token>",
    "the AKIA prefix, AIza prefix, ghp_ prefix and hf_hub_download(repo_id, filename=name_of_the_file_to_get)",
    "npm_config_registry=x npm_package_name npm_lifecycle_script=test_everything_that_is_slow_or_flaky_",
    "SECRET_ACCESS_KEY = os.environ['AWS_SECRET_ACCESS_KEY']",
)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "around", ["{}", "key={}\n", '{{"key": "{}"}}', "Use `{}`, please.", "https://x.test/?key={}&a=1"]
)
def test_a_secret_of_a_known_form_is_replaced_by_its_name_wherever_it_stands(name: str, around: str) -> None:
    assert redact(around.format(SECRETS[name])) == around.format(f"[redacted: {name}]")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_secret_on_a_line_of_its_own_goes_also_within_json(name: str, depth: int) -> None:
    """As in the arguments of a tool that writes a file: `\\n` ends with a letter, and JSON in JSON has more of them."""
    text, expected = f"first\n{SECRETS[name]}\nlast", f"first\n[redacted: {name}]\nlast"
    for _ in range(depth):
        text, expected = json.dumps(text), json.dumps(expected)
    assert redact(text) == expected


@pytest.mark.parametrize(
    ("before", "secret", "name"),
    [
        ('{"Authorization": "Bearer ', some(30), "authorization"),
        ('{"SecretAccessKey": "', some(40), "AWS secret key"),
        ('"postgres://me:', some(12), "password"),
    ],
)
def test_code_that_holds_a_secret_within_json(before: str, secret: str, name: str) -> None:
    after = '@host"' if name == "password" else '"}'
    for each in (json.dumps, lambda text: json.dumps(json.dumps(text)), lambda text: text.replace("/", "\\/")):
        assert redact(each(before + secret + after)) == each(f"{before}[redacted: {name}]{after}")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "around",
    [
        "+{}\n-{}\n",
        "\x1b[32m{}\x1b[0m and \x1b[1;31m+{}\x1b[m",
        "\\u001b[32m{}\\u001b[0m",
        '"a\\f{}", "\\u000a{}\\u000a", \\u0022{}\\u0022, \\u003cb\\u003e{}\\u003c/b\\u003e',
        "?token%3D{}%26b=1 and %2522{}%2522",
        "&quot;{}&quot; &#39;{}&#39;",
        "https://host.test/{}/x and https://host.test/bot/{}?a",
    ],
)
def test_a_secret_beside_marks_colors_and_escapes(name: str, around: str) -> None:
    """As in what git, a terminal or a tool for addresses writes."""
    n = around.count("{}")
    assert redact(around.format(*[SECRETS[name]] * n)) == around.format(*[f"[redacted: {name}]"] * n)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "write",
    [
        lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
        lambda text: text[:2] + "".join(f"\\u{ord(each):04X}" if each in "-_ +" else each for each in text[2:]),
        lambda text: "".join(f"%{ord(each):02X}" if each in "-_ +/=\n" else each for each in text),
        lambda text: "".join(f"\\x{ord(each):02x}" for each in text),
        lambda text: f"{text[:9]}\x1b[1;31m{text[9:12]}\x1b[m{text[12:]}",
    ],
)
def test_a_secret_that_is_written_with_escapes(name: str, write: Callable[[str], str]) -> None:
    assert redact(f"it is {write(SECRETS[name])} there") == f"it is [redacted: {name}] there"


@pytest.mark.parametrize("name", ["GitHub token", "Google API key", "AWS access key", "npm token"])
@pytest.mark.parametrize("between", ["\n", "\n    ", "\r\n", "\\\n", "\\n"])
def test_a_secret_of_which_the_end_is_on_the_next_line(name: str, between: str) -> None:
    secret = SECRETS[name]
    assert redact(f"it is {secret[:14]}{between}{secret[14:]} there") == f"it is [redacted: {name}] there"


@pytest.mark.parametrize(
    "line",
    ["+{}", "> {}", "# {}", "// {}", "{n}\t{}", "{n:6}\t{}", "id_rsa:{n}:{}", '"{}\\n" +', "'{}',", "| {}", "{}<br>"],
)
@pytest.mark.parametrize("depth", [0, 1])
def test_a_private_key_in_what_is_quoted_numbered_or_code(line: str, depth: int) -> None:
    key = pem("RSA ")
    text = "\n".join(line.format(each, n=n) for n, each in enumerate(key.splitlines(), 10))
    for _ in range(depth):
        text = json.dumps(text)
    said = redact(f"a {text} b")
    assert "[redacted: private key]" in said
    assert [each for each in key.splitlines()[1:-1] if each in said] == []


@pytest.mark.parametrize(
    "header",
    [
        'Authorization" => "Bearer {}',
        "Authorization%3A%20Bearer%20{}",
        "Authorization: Bearer\\u0020{}",
        '{{"name": "Authorization", "value": "Bearer {}',
        "<authorization>Bearer {}",
        '{{"\\u0041uthorization": "Bearer {}',
    ],
)
def test_a_header_however_it_is_written(header: str) -> None:
    token = some(40)
    assert redact(header.format(token)) == header.format("[redacted: authorization]")


@pytest.mark.parametrize("password", ["p@hunter2x", "hunt:er2x", "hunter2x$1", "hun(ter)2x", "hunter%21x"])
def test_a_password_in_an_address_with_signs_in_it(password: str) -> None:
    assert redact(f"postgres://ann:{password}@db.test/x") == "postgres://ann:[redacted: password]@db.test/x"


def test_of_an_address_a_setting_and_a_header_only_the_secret_goes() -> None:
    password, secret, token = some(12), some(40, ALNUM + "/+"), some(40)
    assert redact(f"postgres://app:{password}@db.test/x") == "postgres://app:[redacted: password]@db.test/x"
    assert redact(f'aws_secret_access_key = "{secret}"') == 'aws_secret_access_key = "[redacted: AWS secret key]"'
    assert (
        redact(f"curl -H 'Authorization: Bearer {token}'")
        == "curl -H 'Authorization: Bearer [redacted: authorization]'"
    )


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_goes_as_a_whole_also_within_json_and_cut_off(kind: str) -> None:
    for text in (pem(kind), pem(kind, "\r\n"), pem(kind, "\\n"), pem(kind)[:500]):
        assert redact(f"a\n{text}") == "a\n[redacted: private key]"


def test_a_private_key_with_headers_goes_with_them() -> None:
    headed = pem("RSA ").replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n\n", 1)
    assert redact(headed) == "[redacted: private key]"


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) is text


def test_the_sources_lock_files_and_documents_of_this_repository_stay() -> None:
    root = Path(__file__).parents[3]
    paths = [*root.glob("server/**/*.py"), *root.glob("clients/**/*.py"), *root.glob("requirements/*.txt")]
    paths += [*root.glob("*.md"), *root.glob("editors/*/package-lock.json")]
    assert len(paths) > 200
    changed = [path.name for path in paths if redact(text := path.read_text(encoding="utf-8")) is not text]
    assert changed == []


@examples(300)
@given(before=st.text(max_size=60), after=st.text(max_size=60), name=st.sampled_from(sorted(SECRETS)))
def test_around_a_secret_every_character_stays(before: str, after: str, name: str) -> None:
    text = f"{before} {SECRETS[name]}\n {after}"
    assert redact(text) == f"{redact(before + ' ')}[redacted: {name}]{redact(chr(10) + ' ' + after)}" or "-----" in text
    assert SECRETS[name] not in redact(text)
    assert redact(redact(text)) == redact(text)


@examples(300)
@given(
    st.text(alphabet=st.sampled_from("sk-ant_AKIzghp0:/@ \n\"'\\{BEGINPRVTY=."), max_size=400),
)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    ["sk-", "sk-ant-a", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n", "://a:", "://:",
     "Authorization: Bearer ", "AKIA", "AKIAAAAAAA\n", "%41", "\\", "-----BEGIN PRIVATE KEY-----\n> " + "A" * 39 + "\n",
     "://a:b$c@", "secret_access_key = ", "ghp_aaaa", "A-B: c\n", "xoxb-"],
)  # fmt: skip
def test_beginnings_without_end_are_read_in_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert redact(redact(text)) == redact(text)


def test_every_part_a_model_reads_is_redacted_and_what_goes_back_verbatim_is_not() -> None:
    key = SECRETS["AWS access key"]
    call = ToolCallPart("c1", "read_file", json.dumps({"path": key}))
    opaque = OpaquePart("anthropic", "claude", json.dumps({"signature": key}))
    said = (
        user(key),
        assistant(TextPart(key), call, opaque),
        tool_result(call, f"x = {key}"),
        type(user(""))(user("").role, (AttachmentPart(f"{key}.txt", key),)),
    )
    sent = redact_context(context(*said, system=f"be brief {key}"))
    assert key not in sent.system
    shown = [part for content in sent.messages for part in content.parts]
    assert [key in repr(part) for part in shown] == [isinstance(part, OpaquePart) for part in shown]
    assert [json.loads(part.arguments) for part in shown if isinstance(part, ToolCallPart)] == [
        {"path": "[redacted: AWS access key]"}
    ]


def test_a_message_without_secrets_is_the_same_object() -> None:
    content = user("How do I rotate a key?")
    assert redact_content(content) is content


@pytest.mark.parametrize("secret", ["", SECRETS["GitHub token"]])
def test_no_text_is_kept_in_memory(secret: str) -> None:
    said = f"the plan of the pump house {some(40)} {secret}"
    n_holders = sys.getrefcount(said)
    redact(said)
    assert sys.getrefcount(said) == n_holders
