"""The English vocabulary of the offline answers: words without meaning, near synonyms, word forms.

All entries are folded (lower case, no accents) and not stemmed; the code that uses a table stems it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STOP: Final = frozenset(
    """a about above actually after again all also although always am an and any anybody anyone anything are aren
    around as aside at away be because been before being below besides between both but by can cannot could
    couldn currently d did didn do does doesn doing don done down during each either else ever every exactly
    except few for from get gets getting give given gives go goes going gone got had happen happened happens
    has hasn have haven having he hello her here hers hey hi him his how however i if in inside instead into
    is isn it its itself just kindly know let lets like ll look m maybe me mean means might mine more most
    much must my myself need needs no nor not now of off ok okay on once one only onto or other our ours out
    over own perhaps please question quite rather re really s same say says shall she should shouldn show
    since so some somebody someone something still such t take takes tell than thank thanks that the their
    theirs them then there these they thing things this those though through to too under until up upon us
    usually ve very want wants was wasn we well were weren what whats when where whether which while who whom
    whose why will wish with within without won would wouldn yes yet you your yours""".split()
)
"""Words that express how a question is asked, not its subject."""

WEAK: Final = frozenset(
    """allow allowed amount answer app application become call called code come comes company configured current
    currently declared default defined describe details explain file find first folder implemented info
    information keep kept kind last level list long make makes many maximum minimum name named need new number
    often old part period place possible program project put repo repository run runs said say service set
    sort start support supported system time type types use used uses using value way work working works""".split()
)
"""Words of little help: they occur in many questions and in many lines that do not answer them."""

PHRASES: Final[Mapping[str, str]] = {
    "at least": "minimum",
    "at most": "maximum",
    "back up": "backup",
    "call off": "cancel",
    "cut off": "stop",
    "check out": "checkout",
    "get rid": "remove",
    "in charge": "responsible",
    "give back": "return",
    "give up": "timeout",
    "go out": "send",
    "kick in": "start",
    "kick off": "start",
    "log in": "login",
    "log on": "login",
    "log out": "logout",
    "look after": "maintain",
    "pay back": "refund",
    "roll back": "rollback",
    "roll out": "deploy",
    "run out": "expire",
    "send back": "return",
    "set up": "setup",
    "shut down": "shutdown",
    "sign in": "login",
    "sign on": "login",
    "sign out": "logout",
    "sign up": "register",
    "start up": "startup",
    "switch off": "disable",
    "switch on": "enable",
    "take care": "maintain",
    "take down": "remove",
    "take off": "remove",
    "take offline": "remove",
    "throw away": "discard",
    "time out": "timeout",
    "turn off": "disable",
    "turn on": "enable",
    "up to": "maximum",
}
"""Pairs of words that mean the same as one word; the first in its base form."""

IRREGULAR: Final[Mapping[str, str]] = dict(
    pair.split(":")
    for pair in """
    began:begin begun:begin best:good better:good bigger:big biggest:big bought:buy broke:break broken:break
    brought:bring built:build came:come cheaper:cheap cheapest:cheap children:child chose:choose chosen:choose
    colder:cold coldest:cold deeper:deep deepest:deep done:do drawn:draw drew:draw driven:drive drove:drive
    earlier:early earliest:early fallen:fall faster:fast fastest:fast fed:feed feet:foot fell:fall felt:feel
    fewer:few fewest:few found:find froze:freeze frozen:freeze gave:give given:give goes:go got:get gotten:get
    grew:grow grown:grow heard:hear heavier:heavy heaviest:heavy held:hold hidden:hide higher:high highest:high
    hotter:hot hottest:hot indexes:index indices:index kept:keep knew:know known:know laid:lay larger:large
    largest:large later:late latest:late led:lead left:leave lent:lend longer:long longest:long lost:lose
    lower:low lowest:low made:make meant:mean men:man met:meet mice:mouse newer:new newest:new older:old
    oldest:old paid:pay people:person ran:run rose:rise rung:ring sang:sing sank:sink sent:send shorter:short
    shortest:short shown:show shrunk:shrink slept:sleep slower:slow slowest:slow smaller:small smallest:small
    sold:sell spent:spend spoke:speak spoken:speak stood:stand stronger:strong strongest:strong stuck:stick
    taken:take taught:teach teeth:tooth thought:think threw:throw thrown:throw told:tell took:take
    vertices:vertex warmer:warm warmest:warm went:go wider:wide widest:wide women:woman won:win wore:wear
    worn:wear worse:bad worst:bad written:write wrote:write""".split()
)

_COLOURS: Final = "red green blue yellow black white grey gray orange purple pink brown teal amber"
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday"
_LICENSES: Final = "mit apache gpl bsd mpl lgpl agpl isc"

KINDS: Final[Mapping[str, str]] = {
    "algorithm": "sha256 sha512 bcrypt argon2 scrypt md5 aes rsa ed25519 hmac gzip zstd brotli dijkstra",
    "browser": "firefox chrome safari edge",
    "cloud": "aws gcp azure hetzner fly heroku digitalocean",
    "color": _COLOURS,
    "colour": _COLOURS,
    "currency": "eur usd gbp chf euro dollar pound yen",
    "database": "postgresql postgres mysql mariadb sqlite mongodb redis cassandra dynamodb oracle duckdb",
    "day": _DAYS,
    "editor": "vim neovim emacs vscode",
    "format": "json yaml toml csv xml parquet protobuf pdf markdown utf",
    "framework": "django flask fastapi react vue svelte angular rails spring express",
    "language": "python rust javascript typescript java kotlin swift ruby elixir lua perl php haskell scala golang",
    "licence": _LICENSES,
    "license": _LICENSES,
    "month": "january february march april june july august september october november december",
    "protocol": "http https grpc mqtt amqp tcp udp ssh ftp websocket tls",
    "queue": "kafka rabbitmq redis sqs nats celery",
    "timezone": "utc gmt cet est pst",
    "weekday": _DAYS,
}
"""A word for a kind of thing, and words for things of that kind. One direction only."""

_PRICE: Final = r"[$€£]\s?\d|\d\s?[$€£]|\b(?:euro|dollar|cent|pound|crown|franc)s?\b|\b(?:eur|usd|gbp|chf)\b"

PATTERNS: Final[Mapping[str, str]] = {
    "address": r"https?://|\w@\w|\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "cost": _PRICE,
    "date": r"\d{4}-\d\d-\d\d|\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    "email": r"\w@\w+\.\w",
    "percent": r"\d\s?%",
    "phone": r"\b\+?\d[\d ()/-]{6,}\d\b",
    "port": r":\d{2,5}\b",
    "price": _PRICE,
    "time": r"\b\d{1,2}:\d\d\b",
    "url": r"https?://",
    "version": r"\bv?\d+\.\d+",
    "website": r"https?://|\bwww\.",
}
"""A word for a kind of thing, and the pattern of things of that kind in folded text."""
