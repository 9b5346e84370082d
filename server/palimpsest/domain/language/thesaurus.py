"""Groups of words that may replace each other in an answer. Folded base forms; the code that uses them stems them.

A word may be in several groups; groups are not chained. Opposites share a group where an answer to a question about one
often uses the other: *rejected* tells what is *accepted*.
"""

from __future__ import annotations

from typing import Final

ALIKE: Final[tuple[str, ...]] = tuple(
    """
    abandon drop remove discontinue stop
    ability capability can
    able can
    absent missing away
    accept reject refuse allow take
    access reach enter
    accident mistake
    account user profile
    accurate precise exact correct accuracy precision
    achieve reach attain
    acquire buy get obtain
    add append create insert include put
    address url link endpoint uri
    admin administrator
    adult grown
    aim goal purpose target objective
    alarm alert warn warning notify notification
    allow permit let may forbid prohibit enable
    amend change edit
    amount quantity sum total
    animal pet
    annual yearly year
    answer reply respond response
    appear show display
    approve accept sign confirm approval
    arrange organise organize order sort
    arrive come reach
    ask request contact
    assign give allocate
    assistance help support
    attempt try retry
    author write writer
    authorization permission right access
    auth authentication authenticate login
    automatic automatically itself
    autumn fall
    avoid prevent
    backup copy
    ban forbid block prohibit
    banned forbidden blocked
    base foundation
    basement cellar
    before prior earlier
    begin start launch boot open
    behave act
    behaviour behavior
    belong own
    benefit advantage
    big large huge size
    bill invoice charge
    bind attach tie
    block lock stop
    boss manager head chief
    bottom lower
    box case container
    break crash fail failure error
    bring carry
    broken defective damaged fail
    browser web
    budget money
    bug problem error issue defect
    build compile make construct
    building house
    bus coach
    buy purchase order
    calculate compute
    call phone telephone ring
    cancel abort
    capacity size hold fit
    car vehicle
    card ticket
    care maintain
    cause reason
    cease stop end
    change alter modify edit update switch
    charge fee price cost
    chart graph plot diagram
    cheap cheaper discount reduction less
    check verify validate test control inspect
    choose pick select decide
    clean wash wipe clear tidy
    client customer user reader
    close shut
    cold cool chill
    collect gather
    college university
    color colour
    combine merge join mix
    come arrive
    comment note remark
    commercial commercially
    commit save
    company firm business
    compare comparison
    compete competition
    complain complaint
    complete finish full
    component part module
    compress shrink zip
    computer machine host server
    conceal hide
    condition state
    config configuration configure setting option parameter
    confirm approve verify
    connect connection link attach plug
    consist contain
    consult ask
    consume use eat
    contact ask reach report write
    contain include hold
    continue proceed resume
    contract agreement
    convert transform turn change
    cook bake
    copy duplicate replicate clone
    correct fix right
    cost price fee charge pay
    cover lid
    create make produce generate add new
    crew staff team
    customize customise adapt
    damage harm break
    danger risk hazard
    dangerous unsafe hazardous
    db database
    deactivate disable
    deadline due
    dead die
    deal handle
    debug troubleshoot
    decide agree choose decision
    decrease reduce lower shrink
    deduct subtract
    default standard
    defer postpone delay
    delay wait late postpone
    delete remove drop erase purge discard
    deliver ship send delivery
    demand require
    deny refuse reject forbid
    department team division
    depart leave departure
    depend rely
    deploy deployment release rollout ship
    describe explain
    design plan draw
    destroy delete break
    detect find notice recognize
    determine find decide
    develop build
    device machine apparatus
    diagram figure
    die perish
    difficult hard
    dig excavate
    dinner supper
    dir directory folder
    disable deactivate
    discard remove delete drop
    discuss talk
    disk drive storage
    display show screen
    dispose discard
    distance far away
    distribute hand share
    divide split
    doc documentation manual guide
    doctor physician
    document file paper
    donate give
    double twice two
    download fetch load
    draw paint
    drink beverage
    drop remove
    duplicate copy twice
    duration long time
    duty responsibility
    early soon
    earn make
    editor ide
    education training
    elevator lift
    email mail
    emergency urgent
    employ hire use
    employee staff worker
    empty clear blank
    enable activate
    encrypt cipher encryption
    end finish stop
    enough sufficient
    enter access
    entrance door gate
    env environment
    erase delete
    error fault mistake fail
    evaluate assess
    evening night
    event incident
    exam test
    examine inspect check
    exceed over beyond
    exchange swap replace
    exit leave quit
    expect assume
    expensive cost
    expire timeout end expiry
    export dump
    extend lengthen prolong
    extra additional
    factory plant
    fail failure break
    fall autumn drop
    fast quick speed rapid
    fault error
    feature function
    feed food
    fetch download load retrieve
    field area
    fill refill
    finance money
    find locate discover
    fine penalty
    finish end complete
    fire dismiss
    fit match hold
    fix repair solve
    fixed constant
    flat apartment
    food meal eat
    forbid forbidden ban prohibit
    forget lose
    form shape
    format layout
    free gratis
    freeze frozen hang
    frequency often every
    frequently often
    fresh new
    function method procedure
    fund money finance
    gap hole
    garbage trash waste rubbish
    gather collect
    generate create produce make
    gift present
    goods product item
    grant give allow
    grow increase rise
    guarantee warranty
    guess estimate
    guest visitor
    guide manual
    hand give
    handle process treat
    hang freeze stuck
    hash digest checksum
    head lead chief
    heat warm temperature
    heavy weight weigh
    height tall high
    help support assist
    hide conceal
    high tall height
    hire employ recruit
    holiday vacation
    home house
    host run hosted
    hour hourly
    house building
    identifier id
    idle inactive unused
    image picture photo
    import load
    improve better enhance
    incorrect wrong invalid bad
    increase raise grow rise
    index catalogue
    inform tell notify
    input entry
    insect bug
    inspect check examine
    install setup
    instruction manual guide
    intern trainee
    internet network online
    interrupt break stop
    interval every frequency
    introduce add
    invalid wrong
    invoice bill
    irrigation water
    issue problem bug
    item thing
    job task work
    join merge connect
    journey trip travel
    keep retain retention store hold buffer remain stay
    kill stop terminate
    lab laboratory
    label tag mark
    laptop computer notebook
    large big
    late delay
    launch start
    lead head
    leader head lead
    leak drip
    learn study
    leave quit exit depart departure
    lend borrow loan
    length long
    level stage
    licence license
    lie locate
    light lamp
    like prefer
    line row
    link connect
    liquid fluid
    listen port bind
    live locate reside store
    load fetch
    locate location place
    location place site where
    lock block
    log logging record
    long length duration
    lose lost loss missing
    loud noise
    low lower
    lunch meal
    mail post letter
    maintain maintainer own owner responsible charge
    make build produce
    manage administer lead
    manual handbook guide
    market sell
    maximum max limit cap most highest greatest exceed largest beyond
    meal food
    measure gauge
    meet meeting
    member participant
    memory ram
    merge combine
    message notification text
    minimum min least lowest smallest
    miss lack
    missing absent lost
    mistake error
    mobile phone
    mode setting
    modify change
    moisture humidity wet
    money amount refund
    monitor watch observe
    month monthly
    motor engine
    move migrate migration relocate shift
    music song
    name call title
    near close next
    need require requirement must
    network internet
    new recent latest
    night nightly overnight
    noise sound
    note comment
    notice detect
    observe watch
    obtain get
    occur happen
    offer provide
    office bureau
    open unlock
    operate run
    operator user
    option setting
    order purchase
    organise organize arrange
    outage down
    output result
    overview summary
    owner belong
    pack package
    page site
    paint colour
    park stop
    participant attendee member
    pass hand
    password passphrase pin
    path route
    patient person
    pause wait break
    pay payment paid
    penalty fine
    people person staff
    perform execute run
    performance speed
    permission right allow
    permit licence allow
    phone telephone mobile
    physician doctor
    picture photo image
    place put
    plan schedule
    player gamer
    policy rule
    poll ask query
    port listen
    position place location
    postpone delay
    power electricity
    prefer choose
    prepare setup ready
    prevent avoid stop
    previous last former
    price cost fee
    print printout
    problem issue trouble
    procedure process
    produce make
    product item
    prohibit forbid
    protect guard secure
    prove show
    provide give supply offer
    public open
    publish release
    pupil student
    purchase buy
    purpose aim
    put place
    quantity amount
    query question search
    queue line
    quick fast
    quit leave exit
    rain wet
    raise increase
    range reach distance
    rare seldom
    rate speed
    reach contact
    read load
    reason because cause
    reboot restart reset
    receive get
    recipe instruction
    recommend advise suggest
    record log
    recover restore
    reduce lower decrease
    refresh update reload
    refund return
    refuse reject deny forbid
    region area
    register enrol
    regular every
    regulation rule
    release publish version
    reload refresh
    remain stay keep
    remember store keep
    remove delete abandon replace stop
    rent lease hire
    repair fix mend
    repeat again retry
    replace change swap exchange substitute
    repo repository
    report tell
    request ask
    require need requirement must
    rescue save
    reserve book reservation booking
    reset restart
    resolve fix solve
    responsible charge owner maintain
    rest break pause
    restart reboot reset
    restore recover
    restrict limit
    result outcome
    retry attempt repeat
    return give
    review check approve
    revert undo
    ring call
    rise grow
    risk danger
    road street
    rollback revert undo
    room space
    rotate rotation change turn
    route path
    rubbish waste
    rule policy
    run execute start launch operate
    safe secure
    salary wage pay
    sale sell
    sample example
    save store write persist
    scan read
    schedule cron plan timetable
    school college
    screen display
    search find query lookup
    season spring summer
    seat place
    secret key token credential
    secure security safe
    seek search
    sell sale
    send deliver submit transmit
    separate split
    serious severe severity
    server machine service
    set configure
    severity level
    share split
    ship boat vessel
    shop store
    show display
    shrink reduce
    shut close
    sign signature
    size big large
    skip omit
    sleep pause
    slow sluggish
    small little tiny
    software program code
    solution answer fix
    sound noise audio
    source origin
    spare reserve second backup
    speak talk
    speed fast rate
    spend cost
    split divide
    sponsor fund
    staff employee
    stage phase
    start begin
    station stop
    statistics metrics
    stay remain
    stop end halt quit
    storage disk
    store save keep
    storm wind
    strategy plan
    street road
    student pupil
    study learn
    submit send
    succeed success
    suggest propose
    suite set
    supervise oversee
    supplier vendor
    supply provide
    support help
    survive last
    suspend pause
    switch change turn
    symptom sign
    synchronise sync synchronize
    talk speak
    tax vat
    teach train
    teacher instructor
    team crew group
    telephone phone
    temperature degree heat
    temporary temp
    terminate end stop
    test check exam
    ticket issue
    tidy clean
    timeout wait expire
    timetable schedule
    title name
    tool utility
    topic subject
    total sum
    town city
    trace track
    track follow
    trade exchange
    train teach
    training course
    transfer move
    translate translation
    transport carry
    trash garbage
    travel trip
    trigger start cause
    trip journey
    trouble problem
    truck lorry
    trust rely
    try attempt
    turn rotate
    twice two double
    type kind
    uninstall remove
    unit module
    university college
    unlock open
    unsubscribe cancel
    update upgrade
    upload send
    urgent emergency
    user customer reader client
    vacation holiday
    vehicle car
    vendor supplier
    venue place
    version release
    view see
    visit visitor
    voice speech
    wage salary
    wait delay pause sleep
    warm heat
    warranty guarantee
    wash clean
    waste rubbish
    watch monitor
    water liquid
    weather wind rain
    website page
    week weekly
    weight heavy
    wet moist
    wide width
    work job
    worker staff
    wrong incorrect invalid bad
    yearly annual
    zone area
    """.strip().splitlines()
)
