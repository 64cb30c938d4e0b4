/** Promises of one subject: a chapter of docs/guarantees.md, and one line of README.md. */
export interface PromiseChapter {
  readonly title: string
  readonly about: string
  /** The text of each promise by its id, which is what a test is tagged with. */
  readonly promises: Readonly<Record<string, string>>
}

export const promiseChapters: readonly PromiseChapter[] = [
  {
    title: 'No job is lost, and no effect is repeated',
    about:
      'Every process may be killed, frozen or cut off at any instant; Redis may be emptied, Postgres restarted.',
    promises: {
      'bell-lost':
        '**Postgres is the truth, BullMQ rings the bell.** Losing everything that BullMQ holds loses nothing and repeats nothing.',
      'redis-empty': 'A Redis that comes back empty changes nothing.',
      'one-writer': '**One writer.** A worker that lost its lease writes nothing.',
      'frozen-worker': 'A worker that was frozen past its lease wakes up and writes nothing.',
      'killed-worker': 'A worker that is killed at any named point loses no job and repeats no effect.',
      'killed-conductor':
        'A conductor that is killed between ring and mark, or in the middle of a sweep, loses nothing.',
      'two-leaders': 'Two relays or two leading conductors at once do no harm.',
      'heavy-computing': 'Heavy computing in a handler costs no lease.',
      drain: 'A worker that is told to stop releases the jobs that it runs, and no try is charged for that.',
      'cancel-reaches': 'A cancel reaches a running handler within about a second.',
      'postgres-restart': 'Postgres may restart or be killed under load.',
      'half-open': 'Half-open connections are noticed on every side.',
      'stranded-transaction':
        'A process that freezes keeps no lock for good, not even in the middle of a statement.',
      'redis-down':
        'While Redis is down the API commits and answers 202. The work starts when Redis is back.',
      'postgres-down': 'While Postgres is down the API answers 503 with `Retry-After`, and never hangs.',
      'platform-down': 'A platform that is down for a night uses up no job.',
      'change-and-job': 'A change and its job commit together or not at all.',
      'idempotency-key':
        'The same idempotency key makes one job, however often and however fast it is sent. The same key with other content is a 409.',
      'newer-payload': 'An old worker leaves a newer payload alone.',
      admission: 'Admission is all or nothing, and a limit is never exceeded.',
      'ledger-model':
        'Whatever is done to the ledger, in any order, the result is what a model of the ledger says.',
      'job-transitions':
        'A job changes only as its transition table allows, and a job that has succeeded never changes again.',
      'pure-decisions': '**Decisions are pure.** The domain does no I/O and reads no clock.',
      'event-feed': 'No reader of events misses an event or gets an event twice.',
      'migrate-at-once': 'Six processes may migrate a fresh database at once.',
      'one-command':
        'One command starts everything and leaves nothing running. A `kill -9` of it loses nothing, and a lab that cannot start stops nothing else.',
      containers: 'The containers lose no job when a worker or Redis is killed.',
    },
  },
  {
    title: 'Nothing is left behind',
    about:
      'An effect outside Postgres is recorded before it is made, found again after a crash, and undone or shown as a debt.',
    promises: {
      'intent-first':
        '**Intent before effect.** After a crash the next worker looks first, then adopts or does it again.',
      'unknown-is-not-absent': '**Unknown is not absent.** A look that failed is never a reason to act.',
      'unknown-inventory':
        'The same for a whole inventory: a reading that failed, or that suddenly shows nothing, takes no machine away.',
      'one-revision':
        'An inventory is one revision, whatever is killed while it is read, and however many syncs read it at once.',
      'undone-first': 'What a failed or cancelled job did is undone before the job ends.',
      debt: '**Failed clean-up is debt.** It is recorded, retried and shown; it never changes the outcome of the job.',
      'own-by-id':
        '**Own by recorded id and tag, never by name.** A machine or snapshot of somebody else that has our name is not touched.',
      'lost-answer': 'A lost answer of a platform repeats no operation.',
      'template-swap':
        '**The name of a template always resolves**, but for the instant between two renames. A crash there is rolled forward, nothing whole is destroyed, and nothing is left beside the name.',
      'foreign-task':
        'The work of somebody else on a machine is never taken for ours: no snapshot, copy or restore, and no power change of another kind.',
    },
  },
  {
    title: 'Drover never runs a machine twice',
    about: 'One guard is asked right before anything starts a machine, whoever asks for the start.',
    promises: {
      'one-copy':
        '**Never two running copies of one machine.** Our copy is proved off before a source is started, and the source before our copy.',
      'source-stays-off': 'Nobody starts the source of a migration beside its copy.',
      'runs-twice-alarm':
        'A VM that runs twice all the same, whoever started it, is an alarm within one sync.',
      'old-memory': 'Old memory is never restored onto newer disks.',
      'forget-confirmed':
        'A finished migration is forgotten only when a person has confirmed it, and no copy of ours stays behind without an entry.',
    },
  },
  {
    title: 'A migration ends with proof, or its source runs again',
    about: 'A finished machine has a signed certificate; a migration that is given up gives the source back.',
    promises: {
      certificate:
        'A finished migration has the bytes that its source had at its last power-off, and a signed certificate says so. If one bit differs, there is no certificate.',
      'shown-as-migrated': 'A machine is shown as migrated only when its copy was verified.',
      'whole-batch':
        'A batch that meets crashes and lost answers ends as it would have without them, and leaves nothing behind on either side.',
      'source-given-back':
        'An entry moves only as its table allows. An entry that ends unfinished with its source switched off has that source started again.',
      'window-end':
        'A source that is off runs again when its window ends, whatever job is at work and wherever that job stands.',
      'cutover-held':
        'A source is switched off only by a cutover that keeps its slot and its tokens until the copy is whole. A platform that makes no progress is given up.',
      'top-up':
        'No top-up delays a cutover when its window opens, and the last top-up before the window really happens.',
      'copy-resumes': 'A copy that was cut goes on where it was.',
      'waived-disk':
        'What a waiver promises of a disk is done to its end. What can never be copied blocks before anything is made.',
      'changed-source':
        'What changed at a source while its batch held it is judged before the migration goes on.',
    },
  },
  {
    title: 'What is dead, slow or hostile delays only its own work',
    about: 'Room is left in every pool of slots for other batches, sources, targets and hosts.',
    promises: {
      'dead-source':
        '**Nothing dead stalls the living.** One dead source of three delays nothing of the others.',
      'hung-work':
        'Copies that hang keep no machine of another batch switched off, and no machine from its turn. No single batch, source, target or host ever has all slots.',
      'silent-target':
        'A target that is silent keeps only its own entries waiting, and a window that opens waits for no limit on copies.',
      'hung-target': 'A target that hangs, or a machine that is locked, delays the operations of no other.',
      'fair-share': '20,000 jobs of one batch do not delay an urgent job of another by more than a second.',
      'stuck-waiter': 'A job that waits for something dead does not hold back the jobs behind it.',
      'expensive-filters':
        'However many expensive filters a user sends, all other users are served beside them.',
      'slow-receiver': 'A dead webhook receiver, or a reader of events that is too slow, delays nobody else.',
      'hostile-platform': 'A hostile platform costs a bounded time and bounded memory.',
      'noisy-neighbour':
        'A neighbour at the same address keeps nobody out, and no flood of connections keeps the operator of the machine out.',
    },
  },
  {
    title: 'One operation at a machine, and the last wish wins',
    about:
      'A published table says which operation takes the place of which; the older one is undone or waited for first.',
    promises: {
      'one-at-a-machine':
        '**At most one operation is at a machine.** Of any number of people who ask at once, each has a definite answer that names the winner.',
      matrix:
        'Which operation takes the place of which is the published matrix, for all 196 pairs, and both operations end as it says.',
      'sense-first':
        '**A supersede destroys nothing for nothing.** Whether the newer operation makes sense is judged first.',
      'older-lets-go':
        'The newer operation never acts beside the older one: what that began is undone or waited for first, and the wait is bounded.',
      chains:
        'A start without room gives way to a stop, and a stop that its guest ignores to a stop with force. A chain ends where its last operation leads.',
      'move-gives-way':
        'A move gives way to a restart by force and leaves the machine where it was. Once the move switches over, nothing takes its place.',
      'move-slots':
        'The slots of moves are never exceeded, not by a lost worker either. An operation that waits for a slot names the operation that has it.',
      evacuation:
        'An evacuation gives way to a person, and comes back when that operation has ended, as long as the machine still has to leave.',
      'stop-in-migration':
        'A stop in a committed migration is refused. With force it gives up the migration in the same transaction, or changes nothing.',
      'run-policy':
        'A run policy is kept, but not against the stop of a person where the policy heeds it, never by pulling the plug, and not for all machines at once after an outage.',
      escalation: 'An escalation is seen through, also when the guest was quicker.',
      'person-first': 'What a person asks for goes before what Drover does by itself.',
      'last-wish':
        'Whatever operations meet at a machine, and whatever crashes, the last one to survive has its way, once.',
      'dead-api':
        'An API that dies while it admits an operation has admitted nothing and superseded nothing.',
      bulk: 'A bulk acts on as many machines as were confirmed, on each once, also when it is cut off and sent again.',
      'operation-table':
        'Operations move only as their table allows, one at a machine, in the order of asking.',
      'operation-retention':
        'Operations are kept by the time of their end, and the newest ones of each machine always.',
    },
  },
  {
    title: 'Every wait has a reason, and every action is explained before it is taken',
    about: 'The machines that are off, since when and until when, are named before everything else.',
    promises: {
      'wait-reason': '**Every wait has a reason**, a since, an end, and what would end it.',
      'wait-ends': 'A wait ends by its signal, which cannot be missed, or by its time.',
      'wait-names-platform':
        'A wait names the platform that it is for, since when, and the machines that are off because of it, from the first refused connection on.',
      'operation-wait':
        'An operation always says truly why it waits: for which older operation, for which slot and its holder, for a worker, for the next try.',
      'bounded-wait':
        'Waiting never counts against a deadline that is about progress, and no wait is forever.',
      'bounded-tries':
        'A machine that cannot be made is tried again until a moment that is shown. Then a person is asked.',
      'off-said-first':
        'The machines that are off are named first: by the batch, the entry, the overview, and by what a person confirms. No source is switched by a single press.',
      'verb-said-first': 'What a verb would do is said before it is done, and is what the table does.',
      'dry-run': 'A dry run tells the truth and changes nothing.',
      'ends-told': 'Every end of an operation is told and counted, refusals too.',
    },
  },
  {
    title: 'Secrets stay secret, and history cannot be changed unseen',
    about:
      'A login to the database moves no password, a token opens what its role may see, and a hostile platform steers nothing.',
    promises: {
      'no-secret-elsewhere':
        'A secret is nowhere but where it belongs: not in a table, log, event, answer, page, trace, dump, process list, report or file.',
      'password-to-platform':
        'A password goes to no platform but the one that a person confirmed, and is stored nowhere in the clear.',
      'stolen-database':
        'A login to the database cannot move a sealed secret: a password is sent to the address it was given for, or nowhere.',
      'secret-key':
        'A process with a wrong secret key does not start, and a key is replaced beside running processes.',
      'sealed-events': 'Every event is sealed, and edits and deletions of sealed events are found.',
      'hidden-history':
        'A database login cannot hide what it did to the history: pruning is signed, hashes are made outside the database, and signed heads are handed out.',
      'database-roles':
        'No role is a superuser. Each may do in the database what is named for it, and none can change history.',
      roles: 'No operation is open to a role that may not call it, with any kind of credential.',
      'token-ends': 'Whatever a token or a session opened ends with that token or session.',
      'local-token': 'The local token reaches only the Drover that made it, and ends.',
      'behind-proxy':
        'Behind a proxy with TLS the console works for pages of the public address, and for no others.',
      'stolen-container':
        'A container that was taken over has its own secrets and reaches the stores alone. An installation with one login for all is upgraded to that.',
      'store-certificate':
        'A store whose certificate is not of the named authority gets no password and no bell.',
      'hostile-words': 'Nothing that a platform says steers a terminal, a log or a spreadsheet.',
    },
  },
]
