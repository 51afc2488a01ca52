"""The word lists that SLICE-Mem names but does not print (A.3), chosen here, as data.

Lists of English words are lower case; verbs are lemmas unless said otherwise. Contractions are met both as one word
and as two tokens, with a straight apostrophe.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST_PERSON_SUBJECTS = _words("i we")
FIRST_PERSON_OBJECTS = _words("me us")
FIRST_PERSON_POSSESSIVES = _words("my our")
FIRST_PERSON_INDEPENDENT = _words("mine ours")
FIRST_PERSON_REFLEXIVES = _words("myself ourselves ourself")
FIRST_PERSON = (
    FIRST_PERSON_SUBJECTS
    | FIRST_PERSON_OBJECTS
    | FIRST_PERSON_POSSESSIVES
    | FIRST_PERSON_INDEPENDENT
    | FIRST_PERSON_REFLEXIVES
)

ATTITUDE_VERBS = _words("want like love prefer hate")
"""A.3 prints these five: at the first person they replace a nested action that was selected before them."""

MATRIX_VERBS = ATTITUDE_VERBS | _words(
    """think believe guess suppose hope wish plan intend decide expect need try consider imagine feel know say tell
    report mention hear wonder doubt fear dislike enjoy mean ask promise agree remember forget start stop begin keep
    continue finish quit avoid manage aim seem appear dream look"""
)
"""Verbs that take an action as complement: attitude, belief, intention, report, phase."""

CUE_VERBS = _words(
    """love like prefer hate dislike enjoy adore want need plan intend hope decide live work move marry divorce retire
    study learn graduate quit join buy sell spend pay cost owe save own adopt name call schedule book cancel visit
    travel fly attend meet remind schedule remove add change update eat drink smoke avoid train run walk play read
    watch finish complete start stop born allergic suffer"""
)
CUE_WORDS = _words(
    """favorite favourite allergic allergy vegan vegetarian intolerant birthday anniversary appointment meeting deadline
    budget salary rent goal hobby job wife husband partner daughter son sister brother mother father parents dog cat
    pet diagnosed pregnant engaged married single divorced born never longer always usually fan into interested afraid
    resident address phone email title titled due priority"""
)
"""Content cues: what personal memory is usually about. A clause with one of them, an amount of money or an entity of
a person, place or date is worth the bonus."""
CUE_ENTITIES = frozenset({"MONEY", "DATE", "GPE", "PERSON", "ORG", "QUANTITY", "WORK_OF_ART"})

LIGHT_VERBS = _words("do make take have get give go come be seem happen work keep let put turn")
"""Verbs that say little without an object."""

LEMMA_FIXES = {"hoping": "hope", "hoped": "hope", "planing": "plan", "dying": "die", "lied": "lie"}
"""Forms that spaCy's rule lemmatizer gets wrong."""

BE_FORMS = _words("be am is are was were been being 's 're 'm m s re")
HAVE_FORMS = _words("have has had having 've 'd ve d")
DO_FORMS = _words("do does did")
AUXILIARIES = BE_FORMS | HAVE_FORMS | DO_FORMS
MODALS = _words("can could may might must shall should will would ca wo sha ought 'll 'd ll need dare")

NEGATIONS = _words(
    """not n't nt no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely seldom cannot
    dont didnt doesnt isnt arent wasnt werent wont cant couldnt wouldnt shouldnt havent hasnt hadnt aint"""
)
HEDGES = MODALS - {"need", "dare"} | _words(
    """maybe perhaps probably possibly apparently supposedly allegedly likely unlikely presumably potentially
    almost nearly unless if whether"""
)
POLARITY = NEGATIONS | HEDGES
"""Words that a kept proposition must not lose. A stop list that holds them erases polarity."""
POLARITY_TAILS = _words("anymore longer yet either")

EVALUATIVE = _words(
    """great good nice cool awesome amazing interesting fascinating wonderful fantastic excellent perfect lovely helpful
    incredible impressive true right fair funny crazy wild sweet neat kind fun useful brilliant insightful clear
    reasonable fine sad tough rough unfortunate terrible horrible awful bad sorry inspiring beautiful exciting cute
    breathtaking captivating magical magic unmatched soothing stunning addictive infectious special worth hard easy
    different relaxing engaging unique immersive uplifting refreshing heartbreaking moving touching adorable delicious
    gorgeous iconic legendary intense overwhelming challenging rewarding essential crucial important significant
    impactful thrilling scary weird strange crazy deep rare smart clever awe-inspiring soul-soothing disappointing
    memorable enjoyable satisfying pleasant charming delightful peaceful exhausting
    surprising meaningful vivid intriguing practical relevant huge dynamic complex
    remarkable powerful valid thoughtful valuable fantastic profound compelling hilarious thought-provoking"""
)
DISCOURSE_WORDS = EVALUATIVE | _words(
    """oh ah hm hmm hmmm um uh well so yeah yes yep yup no nope nah ok okay k alright sure thanks thank thx ty cheers
    wow haha hahaha lol lmao hey hi hello there anyway anyways actually honestly frankly basically btw like
    right absolutely
    definitely exactly totally certainly indeed again too very really much please and but you of course bye goodbye
    morning evening afternoon night sounds that it this was is 's all everything for a the lot my friend pretty quite
    to hear is be ha aww aw omg yay welcome hooray congrats congratulations agreed perfect got i see understood goodness
    gosh man dude gotcha mm mhm mmm uh-huh huh idea point question an what such me same here"""
)
"""A clause of these words alone says nothing to remember."""

CONTRAST_CUES = _words("but however although though yet instead whereas while except unlike rather nevertheless still")
ANAPHORIC_CUES = _words(
    """it its itself that this these those they them their he him his she her there then one ones which same both such
    so also too who"""
)
"""Words that lean on a neighbouring unit (A.3, merging)."""
CONNECTIVES = _words("and but so because however although though yet or then also plus while whereas since instead nor")
KEPT_CONNECTIVES = CONTRAST_CUES | _words("because so then since or nor")
"""Connectives that stay in front of a unit that follows another one."""

GIVING_VERBS = _words("give send show tell help get find write make explain teach fetch draft suggest recommend")
"""Verbs of a request whose "me" goes without saying: "User asks to give an example"."""
ASKED_FOR = _words(
    """tip tips idea ideas suggestion suggestions recommendation recommendations advice example examples thought
    thoughts insight insights resource resources"""
)
"""What the listener is asked for, where "do you have any …" asks."""
FILLERS = _words(
    """actually really just honestly definitely absolutely totally literally basically simply truly certainly obviously
    seriously incredibly genuinely also"""
)
"""Adverbs that only stress or add."""
ILLUSTRATIONS = _words("like especially particularly even specifically mostly just much right then")
"""Openers of an adjunct that only illustrates or stresses; participles and "with …" inform, and stay."""
INTENSIFIERS = _words("so very incredibly extremely super absolutely insanely hugely deeply immensely")
"""Left out in front of an adjective or adverb."""
LINKING_VERBS = _words("be feel seem sound look appear make become help")
ANAPHORIC_SUBJECTS = _words("it that this these those they there he she his her its their which what")
VAGUE_WORDS = _words(
    """thing something anything everything stuff detail detailed information info change changes thought thoughts take
    perspective opinion lot bit kind kinda sort way one ones help need want like think know make get got have see tell
    say try go going guess wonder wondering curious hear heard chat chatting talk talking discuss discussion
    conversation conversations question questions topic topics point points idea ideas sure glad happy
    pleased let look looking
    forward mean share explain give interested interest appreciate enjoy enjoyed time later next soon moment while
    anything else much many little use add update include different specific few new course example examples back
    later today assistance assist part kind add good great you your find hope hoping maybe come coming consider well
    feel feeling felt pretty quite small big huge difference true real whole keep
    any some all more most other each both same only insight insights
    preference preferences yet already there organize organise structure format properly content"""
)
"""Words that, alone, tell nothing about the user."""

STATIVE_STARTS = _words(
    """want need love hate like prefer have think hope wish plan enjoy live know feel believe guess got trying going
    miss dislike seem own used appreciate bet"""
)
"""A sentence without a subject that starts with one of these is about the user, not an order."""

DANGLING = _words("of to in on at for with from by and or but the a an my their his her as than because into about if")
"""A unit that ends with one of these is a fragment."""

STOP_WORDS = (
    _words(
        """a an the and or but if then than so as of at by for with about into through during before after to from in on
    off over under again further here there when where why how such too very can will just should now i me my
    myself we our
    ours us you your yours he him his she her hers it its they them their theirs what which who whom this that these
    those am is are was were be been being have has had do does did doing would could also im ive s t re ve ll d m"""
    )
    | FILLERS
)
"""Function words and stressing adverbs, which content-token retention leaves out. Negations and quantities count."""

REQUEST_MODALS = _words("can could would will")
SOFTENERS = _words("please kindly maybe possibly also just then now pls plz perhaps quickly help")
WH_WORDS = _words("what who whom whose which when where why how")
QUESTION_AUXILIARIES = _words(
    "do does did is are was were am can could should would will have has had may might shall must 's"
)

ENGLISH_WORDS = (
    STOP_WORDS
    | NEGATIONS
    | DISCOURSE_WORDS
    | _words(
        """want need like love go went get got know think see make made work time day new one two don't i'm it's that's
    didn't can't won't isn't let us up out down back because your am pm today yesterday tomorrow"""
    )
)
FOREIGN_WORDS: dict[str, frozenset[str]] = {
    "de": _words(
        "ich und der die das ist nicht ein eine mit für auf wir mein meine habe bin kein keine im zu seit den"
    ),
    "es": _words("yo el la los las de que no en un una mi mis por con para es estoy soy muy pero como me se del y"),
    "fr": _words("je le la les des un une est pas ne mon ma mes et dans pour avec sur suis que qui ai du au j'ai nous"),
    "it": _words("io il lo la gli un una è non mio mia di che per con sono ho del nel ma mi si alla della e"),
    "pt": _words("eu o a os as um uma é não meu minha de que para com em no na sou estou mas se do da e"),
    "nl": _words("ik het een en niet van mijn is op met voor dat ben heb maar geen wij naar de in te"),
    "sv": _words("jag och att det är inte en ett på som min mitt med för har vi men till i av"),
    "pl": _words("ja i w na nie że jest się do z mój moja mam jestem ale od po za dla o u"),
    "tr": _words("ben ve bir bu için değil çok benim ile ama da de var yok gibi"),
    "cs": _words("já a v na ne že je se do z můj moje mám jsem ale od po za pro s"),
    "id": _words("saya dan yang di ke dari tidak ini itu untuk dengan adalah akan sudah"),
    "ro": _words("eu și în nu este un o de la cu pe mai sunt am pentru că din"),
    "fi": _words("minä ja on ei olen se että minun mutta kun en ovat"),
    "da": _words("jeg og det er ikke en et på som min mit med for har vi men til i af at"),
    "hu": _words("én és nem egy az a van hogy de is meg vagyok"),
}
"""Frequent function words by language: enough to tell a turn that the English parser does not know."""
PLACE_NOUNS = _words(
    """home house flat apartment office work school university college library gym park beach hospital clinic shop store
    market bakery restaurant café cafe bar pub museum theatre theater cinema church station airport hotel studio garden
    farm village town city country kitchen garage lab factory court stadium pool lake river mountain mountains forest
    centre center downtown neighbourhood neighborhood campus street road yard basement workshop shelter"""
)
"""Nouns that name a place without being names."""

PEOPLE = _words(
    """people person parent friend kid child colleague coworker neighbour neighbor sister brother mother father son
    daughter aunt uncle cousin nephew niece grandparent grandmother grandfather grandson granddaughter wife husband
    partner girlfriend boyfriend student teacher teammate client customer recipient employee player author artist
    actor actress band writer director team member guest boss manager doctor woman man girl boy family couple twin user
    stakeholder attendee patient visitor singer musician company group baby guy roommate flatmate landlord tenant"""
)
"""Nouns that "their" could speak of, so that the user's own things stay "User's" behind them."""
PLACE_ADVERBS = _words("here there home abroad upstairs downstairs nearby overseas away")
TIME_ADVERBS = _words(
    """now today tomorrow yesterday tonight soon later recently lately currently already always usually often sometimes
    daily weekly monthly yearly someday nowadays anymore weekends mornings evenings nights once twice never again ago
    early before afterwards"""
)
