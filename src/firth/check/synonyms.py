"""What may be said in other words, and what turns a sentence round: tables written by hand.

Only words that nearly always have one sense are here, in the forms in which they have it:
"started" for "began", but not the reverse ("has started").
"""

ALIKE = """
# `a = b` both ways, `a > b` one way only; `#` stands for a number that follows.
# --- amounts
about # = approximately # = around # = roughly #
more than # = over #
fewer than # > less than #
at least # > no fewer than #
nearly = almost
a number of > several
numerous > many
a large number of = a great number of
the majority of the = most of the
a variety of > various
a couple of > a few
a handful of > a few
all of the = all the
all of his = all his
all of her = all her
all of their = all their
half of the = half the
the rest of the = the remainder of the
the entire = the whole
an entire = a whole
lots of = a lot of
plenty of > lots of
a little bit > a bit
per year > a year
each year = every year
each day = every day
each month = every month
each week = every week
twice > two times
at the age of # > aged #
per cent = percent
kind of = sort of
kinds of = types of
types of = sorts of
this kind of = this type of
in total = altogether
a great deal of > much
# --- how often, how much, how sure
little by little > gradually
on a regular basis > regularly
abroad > overseas
around the world = across the world
across the country = around the country
every year > annually
probably > most likely
at once > immediately
in secret > secretly
obviously > clearly
therefore > thus
partly = partially
often = frequently
usually = typically = normally
rarely = seldom
sometimes = at times = occasionally
from time to time > now and then
currently = presently = at present
nowadays = these days
quickly > rapidly
rapidly > quickly
originally = initially
formerly > previously
completely = entirely = totally
fully = completely
mainly = primarily = mostly = chiefly
largely > mostly
especially = particularly
exactly = precisely
extremely > very
perhaps = maybe
fortunately = luckily
unfortunately = sadly
certainly = definitely
basically = essentially
apparently = seemingly
simultaneously = at the same time
subsequently > later
thereafter > after that
shortly after = soon after
shortly before > not long before
shortly afterwards > soon afterwards
right away > immediately
suddenly = all of a sudden
meanwhile = in the meantime
once again = once more
at the moment > at present
at first = initially
as soon as > the moment
until now > so far
solely = exclusively
generally > in general
whilst > while
amongst = among
towards = toward
upwards of # > more than #
# --- linking
in order to = so as to
due to the = because of the
due to a = because of a
due to his = because of his
due to her = because of her
due to its = because of its
due to their = because of their
owing to > because of
as a consequence > as a result
as a result of = because of
for example = for instance
e.g. > for example
i.e. > that is
nevertheless = nonetheless
consequently = as a result
furthermore = moreover = in addition = additionally
in spite of = despite
whereas > while
although > though
even though > although
along with = together with
alongside > along with
in addition to = besides
apart from = aside from
with the exception of > except for
instead of = rather than
such as > like
prior to > before
during the = in the course of the
throughout the > all through the
as if = as though
whether or not > whether
regarding = concerning = with regard to
with respect to > regarding
via > by way of
in terms of > as regards
etc. > and so on
based upon = based on
in accordance with > according to
in conjunction with > together with
on behalf of > for
in the event of > in case of
by means of > with
# --- where
next to = beside
on top of = atop
beneath = underneath
outside of > outside
in the vicinity of > near
close to the > near the
near the > close to the
close to a > near a
near a > close to a
is located in = is situated in
is located on = is situated on
is located at = is situated at
is located near > lies near
are located in = are situated in
was located in = was situated in
located in = situated in
located on = situated on
located near = situated near
located at = situated at
outdoors > outside
on board > aboard
in the center of = at the center of
in the centre of = at the centre of
the start of the = the beginning of the
the United States = the US
the United Kingdom = the UK
the USA > the United States
New York City > the city of New York
# --- people and things
children = kids
child > kid
mom > mother
dad > father
guy > man
guys > men
lady > woman
ladies > women
individuals > people
persons > people
no one = nobody
everyone = everybody
someone = somebody
anyone = anybody
physician > doctor
physicians > doctors
attorney = lawyer
attorneys = lawyers
pupils > students
inhabitants = residents
the film = the movie
a film = a movie
this film = this movie
films > movies
movie > film
movies > films
motion picture > film
bicycle = bike
bicycles = bikes
motorcycle = motorbike
motorcycles = motorbikes
automobile > car
automobiles > cars
airplane = plane
airplanes = planes
photograph = photo
photographs = photos
a picture of = a photo of
a close up of = a closeup of
television = TV
telephone > phone
refrigerator = fridge
couch = sofa
couches = sofas
trash > garbage
garbage > trash
sidewalk > pavement
cell phone = mobile phone
cellphone > mobile phone
railway = railroad
elementary school = primary school
nation > country
nations > countries
ocean > sea
autumn > fall
soccer > football
cab > taxi
cemetery = graveyard
the aim of = the goal of
the reason why > the reason
infant > baby
assistance > help
rain forest = rainforest
grey = gray
colour = color
colours = colors
coloured = colored
traveling = travelling
traveled = travelled
theatre = theater
# --- of what kind
big = large
bigger = larger
biggest = largest
huge = enormous
famous = well-known
renowned > famous
the main = the principal
wealthy > rich
elderly > old
additional > further
annual = yearly
beautiful > lovely
difficult > hard
in charge of > responsible for
composed of = made up of
similar to = akin to
deceased > dead
nearest > closest
contemporary > present-day
identical to > exactly the same as
adjacent to > next to
prestigious > highly regarded
crucial = vital
intelligent = clever
frightened = scared
lengthy > long
vacant > empty
entire > whole
# --- done
to purchase > to buy
to buy > to purchase
requires > needs
chosen > selected
manufactured > made
sitting at = seated at
seated on > sitting on
seated in > sitting in
purchased = bought
purchasing = buying
began > started
commenced > started
commencing > starting
beginning in = starting in
starting in = beginning in
constructed = built
erected > built
reconstructed = rebuilt
founded > established
completed > finished
utilized > used
utilised > used
utilizes > uses
utilize > use
utilizing > using
utilising > using
assisting > helping
demonstrates > shows
stated that = said that
stated > said
states that = says that
noted that = observed that
believes that > thinks that
I think = I believe
I believe = I think
consists of = is made up of
took part in > participated in
taken part in > participated in
take part in = participate in
takes part in = participates in
taking part in = participating in
takes place > is held
taking place > being held
carried out > performed
relocated to = moved to
moved back to > returned to
resided in = lived in
resides in = lives in
residing in = living in
reside in = live in
was appointed > was named
were appointed > were named
permitted to = allowed to
prohibited > forbidden
attempted to = tried to
attempting to = trying to
wanted to = wished to
wants to = wishes to
seems to = appears to
seemed to = appeared to
seem to = appear to
passed away > died
perished > died
obtained > got
acquired by > bought by
also known as > also called
is known as > is called
are known as > are called
was known as > was called
replied > answered
sits on > is sitting on
is sitting > sits
is standing > stands
are standing > stand
are sitting > sit
is wearing > wears
are wearing > wear
is holding > holds
are holding > hold
is riding > rides
are riding > ride
dressed in > wearing
lies in the > is in the
is part of the > belongs to the
was part of the > belonged to the
went on to > proceeded to
discovered > found
depicts = portrays
depicting = portraying
depicted = portrayed
assembled > put together
postponed = put off
cancelled > called off
was selected > was chosen
enables > makes it possible for
occurred > happened
vanished = disappeared
terminated > ended
attained > reached
resembles > looks like
resemble > look like
specifies > states
situated > located
demolished = torn down = pulled down
collaborated with > worked with
collaborating with > working with
competed in > took part in
competed at > took part in
competing in > taking part in
named after = named for
featuring > with
in recent years > over the last few years
served as > acted as
serves as > acts as
serving as > acting as
released in > issued in
thank you for > thanks for
thanks for > thank you for
"""
"""Words and phrases that are interchangeable in nearly all running text, one group a line."""

REWORDINGS: tuple[tuple[str, str], ...] = (
    (r"(he|she|who) grew up in", r"\1 was raised in"),
    (r"(he|she) died", r"\1 passed away"),
    (r"(he|she|it|they|was|were|had|has|who|which) later(?! on)", r"\1 subsequently"),
    (r"(I|you|we|they) have to", r"\1 must"),
    (r"(he|she|it) has to", r"\1 must"),
    (r"(?:is|are) able to(?= [a-z])", "can"),
    (r"many(?= [a-z]+s\b)", "numerous"),
    (r"several(?= (?!hundred|thousand|million|other)[a-z])", "a number of"),
    (r"aged(?= [0-9]+[.,])", "at the age of"),
    (r"([0-9])%", r"\1 percent"),
    (r"([0-9]) ?km", r"\1 kilometres"),
    (r"([0-9]) ?kg", r"\1 kilograms"),
    (r"(in|during|of|after|before|until|since) World War II(?=[.,;)])", r"\1 the Second World War"),
    (r"(in|during|of|after|before|until|since) World War I(?=[.,;)])", r"\1 the First World War"),
    (r"(in|during|of|after|before|until|since) the Second World War(?=[.,;)])", r"\1 World War II"),
    (r"(race|tournament|meeting|election|elections|event|events|festival|conference|ceremony|"
     r"competition|championship|championships|match|final|finals|concert) (?:was|were) held",
     r"\1 took place"),
    (r"(?<!just )(?<!only )(?<!is )(?<!was )(?<!not )(?<!probably )because(?! of)(?= )", "since"),
    (r"the U\.S\.(?= [a-z])", "the United States"),
    (r"however(?=,)", "nevertheless"),
    (r"following(?= the (?:war|death|end|release|success|election|retirement|departure))", "after"),
    (r"(?<!ave )(?<!as )(?<!ad )started to(?= [a-z]+)", "began to"),
    (r"(he|she|they) returned to(?= [A-Z])", r"\1 went back to"),
    (r"(he|she|they) returned from(?= [A-Z])", r"\1 came back from"),
    (r"can(?:'|\u2019)t", "cannot"),
    (r"won(?:'|\u2019)t", "will not"),
    (r"(do|does|did|is|are|was|were|has|have|had|could|would|should)n(?:'|\u2019)t"
     r"(?= (?!I|you|we|they|he|she|it|there|the|this|that|your|my)\w)", r"\1 not"),
    (r"(do|does|did|is|are|was|were|could|would|should) not(?= [a-z])", r"\1n't"),
    (r"cannot(?= [a-z])", "can't"),
    (r"will not(?= [a-z])", "won't"),
    (r"(I|i)(?:'|\u2019)m", "I am"),
    (r"(I|you|we|they)(?:'|\u2019)ve", r"\1 have"),
    (r"(I|you|we|they|he|she|it)(?:'|\u2019)ll", r"\1 will"),
    (r"(you|we|they)(?:'|\u2019)re", r"\1 are"),
    (r"I am(?= (?:a|an|the|not|trying|using|going|sure|looking|from|in|very)\b)", "I'm"),
    (r"(you|we|they) are(?= (?:a|an|the|not|going|all|in|very)\b)", r"\1're"),
    (r"(it|that|there|he|she)(?:'|\u2019)s(?= (?:a|an|the|not|very|in|also|so|no)\b)", r"\1 is"),
)  # fmt: skip
"""Patterns (regular expressions of lower-cased starts) and what stands for them."""

OPPOSITES = """
# as in ALIKE
without a > with a
man with a > man without a
woman with a > woman without a
boy with a > boy without a
girl with a > girl without a
person with a > person without a
dog with a > dog without a
cat with a > cat without a
horse with a > horse without a
room with a > room without a
kitchen with a > kitchen without a
bathroom with a > bathroom without a
bedroom with a > bedroom without a
table with a > table without a
plate with a > plate without a
bed with a > bed without a
house with a > house without a
building with a > building without a
increased = decreased
increases = decreases
increasing = decreasing
an increase in = a decrease in
increase in = decrease in
rose to = fell to
rose by = fell by
rising = falling
always = never
more than # = less than #
most of the > few of the
majority of = minority of
managed to = failed to
agreed to = refused to
able to = unable to
accepted > rejected
rejected > accepted
supported by = opposed by
victory over > defeat by
is still = is no longer
are still = are no longer
was still = was no longer
were still = were no longer
the first = the last
largest = smallest
longest = shortest
highest = lowest
oldest = youngest
best known > least known
larger than = smaller than
higher than = lower than
older than = younger than
longer than = shorter than
better than = worse than
taller than = shorter than
greater than = smaller than
northern = southern
eastern = western
north of = south of
east of = west of
northeast of = southwest of
northwest of = southeast of
on the left = on the right
indoor = outdoor
indoors = outdoors
inside = outside
upstairs = downstairs
male = female
men's = women's
his mother = his father
her mother = her father
possible = impossible
likely to = unlikely to
successful = unsuccessful
successfully = unsuccessfully
legal = illegal
positive = negative
maximum = minimum
easy to = difficult to
expensive = cheap
in favor of = against
everyone = nobody
opened in > closed in
closed in > opened in
gained > lost
arrived in = departed from
"""
"""Words and phrases that turn what is said round when one stands for the other."""

PAST = """
accept accepted,achieve achieved,add added,announce announced,appear appeared,attend attended,
become became,begin began,build built,buy bought,come came,complete completed,create created,
design designed,die died,discover discovered,enter entered,find found,finish finished,
follow followed,get got,give gave,go went,graduate graduated,help helped,join joined,keep kept,
know knew,lead led,learn learned,leave left,live lived,lose lost,make made,marry married,
move moved,need needed,open opened,play played,receive received,release released,remain remained,
retire retired,return returned,say said,see saw,sell sold,serve served,show showed,
sign signed,start started,stay stayed,study studied,take took,teach taught,tell told,think thought,
try tried,use used,visit visited,want wanted,win won,work worked,write wrote
"""
"""Verbs whose past is turned into "did not" and the verb after a subject that is a pronoun."""
