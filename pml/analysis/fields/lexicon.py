"""What names of fields and tools are made of: short forms, verbs, words that say little.

General English of programming interfaces, written by hand; what was learned from data is in
`weights.json`.
"""


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    lines = (line.partition("=") for line in text.split("\n") if line.strip())
    return {
        short: tuple(long.split()) for shorts, _, long in lines for short in shorts.split() if long
    }


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _families(text: str) -> dict[str, str]:
    rows = (line.split() for line in text.split("\n") if line.strip())
    return {word: row[0] for row in rows for word in row}


SHORT_FORMS = _pairs("""
num no nr nbr=number
qty=quantity
addr=address
desc descr=description
img pic picture=image
msg=message
usr=user
acct=account
lat=latitude
lng lon long=longitude
loc=location
dept=department
org organisation=organization
repo=repository
dir folder=directory
env=environment
doc=document
txt=text
tel telephone mobile=phone
ref=reference
cfg conf configuration=config
amt=amount
pwd passwd=password
uid=user id
userid=user id
username=user name
filename=file name
filepath pathname=file path
uuid guid identifier=id
uri link href=url
src=source
dst dest=destination
lang=language
mail=email
ts=timestamp
datetime=date time
tz=timezone
temp=temperature
auth authorization authentication=auth
spec=specification
param=parameter
pref=preference
info=information
stat=status
app=application
db=database
vid=video
cust=customer
prod=product
cat=category
lib=library
pkg=package
proj=project
emp=employee
tx txn=transaction
calc=calculation
zipcode postcode zip postal=postcode
""")
"""A token by what it stands for."""

COMPOUNDS = {
    ("e", "email"): "email",
    ("email", "address"): "email",
    ("phone", "number"): "phone",
    ("post", "code"): "postcode",
    ("postcode", "code"): "postcode",
    ("time", "stamp"): "timestamp",
    ("time", "zone"): "timezone",
    ("web", "site"): "website",
}
"""Two tokens that are one word."""

FAMILY = _families("""
place location city town address area destination origin venue region where station airport
movie film
image photo picture screenshot
user customer client member person passenger participant username patient guest employee
song track music
text content body sentence phrase paragraph transcript word caption prompt
price cost amount fee fare total payment balance
date day year datetime timestamp
time hour
file path filename document attachment
url website site webpage page endpoint
number count quantity size
ticker symbol stock
house home property apartment
event show
doctor dentist therapist provider stylist
id code
token session credential
channel room chat conversation
recipient receiver to contact
car vehicle
flight airline
job position role
company organization firm business
task todo
error fault
""")
"""The family of a token whose members often name the same value."""

VERBS = _families("""
read get fetch list find search query show retrieve lookup describe view load browse download
read pull select see explore inspect locate access collect track monitor watch discover check
make create add register generate build insert upload post start open schedule book reserve
make buy order submit draft init initialize subscribe publish launch clone copy import save
make store write request place compose commit apply
change update set edit modify rename move put assign enable disable toggle adjust configure
change resolve merge close complete approve restore optimize replace patch lock unlock
drop delete remove cancel clear unregister unsubscribe destroy archive purge reset revoke
drop uninstall
compute analyze analyse calculate convert translate encode decode format parse validate
compute verify summarize extract estimate hash predict detect identify classify evaluate
compute compare transform render encrypt decrypt compress measure count rank recommend
compute suggest determine diagnose
send notify share print play reply forward broadcast email message call invite tweet display
send speak
login authenticate signin logon connect auth
""")
"""The class of a verb: what a tool does with what its name says."""

PREPOSITIONS = _words("""
by for from in with to of at on into via using per about between within over under against near
as and or the a an all my your
""")
"""What follows one of these in a tool's name is not what the tool returns."""

CARRIERS = _words("""
information detail data result response list item output value record object entry content
summary report profile metadata payload body
""")
"""Words for a whole: `user_info` is a user."""

CONTROL = _words("""
limit offset page size count max min maximum minimum sort order format verbose filter include
exclude mode unit top skip cursor per timeout depth option flag debug dry enable language locale
version width height style color precision threshold level
""")
"""Words of inputs that say how, not what: rarely another tool's output."""

GENERIC = _words("""
id name type status message limit data success result value number code key title description
information size count index query page list item output response error total level state kind
text content start end from to is has new old current first last of for in at by
""")
"""Words that say nothing alone: an ``id`` is the id of something."""
