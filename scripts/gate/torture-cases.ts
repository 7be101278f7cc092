/** `times` is how often each file is run, once unless it is given: for what has no rounds of its own. */
export type Case = {
  promise: string
  files: readonly string[]
  times?: number
  environment?: Readonly<Record<string, string>>
}

/** One line a case, in the order in which they run: quick ones first. */
export const CASES: Readonly<Record<string, Case>> = {
  watchdog: {
    promise: '100,000 random histories: the watchdog and its model agree',
    files: ['tests/integration/watchdog/model'],
    environment: { WATCHDOG_MODEL_RUNS: '100000' },
  },
  profile: {
    promise: '5,000 specs of containers: none leaves the profile',
    files: ['src/adapters/runtimes/engine/container.test.ts'],
    environment: { SPEC_RUNS: '5000' },
  },
  races: {
    promise: '200 at once, 50 times: one winner each, no limit passed',
    files: ['tests/integration/races/', 'tests/stress/ports'],
    environment: { RACE_ROUNDS: '50', PORT_AGENTS: '100' },
  },
  providers: {
    promise: 'any fault of providers while one is healthy: a whole answer',
    files: ['tests/integration/gateway/'],
    environment: { FAULT_RUNS: '1000' },
  },
  hostile: {
    promise: 'hostile addresses, pages, paths and repositories reach nothing',
    files: ['tests/integration/egress/', 'tests/integration/browse/'],
    environment: { REBINDS: '6000', SWAPS: '50000', GIT_KILLS: '12', BROWSE_OPERATIONS: '20000' },
  },
  flood: {
    promise: 'floods of logins and of hostile pages leave health routes answering',
    files: ['tests/integration/overload/', 'tests/integration/summarizer/hostile'],
    environment: { FLOOD_SECONDS: '30', HOSTILE_BODIES: '500' },
  },
  bodies: {
    promise: 'bodies that come slowly or by the dozen hold neither memory nor connections',
    files: ['bodies/'],
    environment: { BODY_STRICT: '1' },
  },
  commits: {
    promise: 'killed in the middle of commits: the repository is whole',
    files: ['tests/integration/browse/git-crash'],
    environment: { GIT_KILLS: '200' },
  },
  abandoned: {
    promise: '4,000 visitors and many callers who leave: what was sent is booked, no budget is passed',
    files: [
      'src/features/ai/gateway/abandoned',
      'src/features/ai/gateway/abort',
      'src/features/ai/demo/',
      'tests/integration/gateway/killed',
    ],
    times: 10,
    environment: { LEAVING_VISITORS: '400' },
  },
  cookies: {
    promise: 'pages of agents plant and throw cookies: no session is taken over, nobody is locked out',
    files: ['tests/e2e/cookies', 'tests/e2e/networks', 'src/server/listeners/head-room'],
    times: 10,
  },
  images: {
    promise: 'owners name images of any kind: the engine is sent nowhere, no agent stops',
    files: ['src/features/agents/operations/images'],
    times: 20,
  },
  payments: {
    promise:
      'killed among payments on a chain and through a hostile gateway: none doubled, none unaudited, none left open',
    files: ['tests/stress/payments', 'tests/stress/paid-calls'],
    environment: { PAYMENT_KILLS: '100' },
  },
  economy: {
    promise:
      '200 at once on keys, signatures, escrows, tickets, splits and events of cards, chains that take back: one effect',
    files: ['src/features/payments/', 'tests/integration/economy/'],
    times: 20,
    environment: { SPLIT_RECIPIENTS: '40' },
  },
  keys: {
    promise: 'keys act within their scopes and limits, bodies name each control once, tokens and keys are replaced',
    files: [
      ...[
        'src/features/accounts/keys/',
        'src/features/ai/gateway/key-limits',
        'src/features/ai/gateway/requests/control-keys',
      ],
      ...[
        'src/features/agents/deployments/rotate-token',
        'src/features/accounts/encryption/',
        'tests/integration/journeys/rotate-key',
      ],
    ],
    times: 5,
    environment: { EVERY_STEP: '1', ROTATIONS: '10' },
  },
  storage: {
    promise: 'quotas, retention, the log of writes and a full disk: what is promised to be kept is, and no more',
    files: ['src/features/agents/storage/', 'src/features/admin/retention/', 'src/db/'],
    times: 5,
  },
  backups: {
    promise: '100 backups under 500 rows a second, 100 kills of each command: 0 differences, nothing half',
    files: ['tests/integration/backups/', 'tests/integration/journeys/backup'],
    environment: { BACKUPS: '100', BACKUP_KILLS: '100' },
  },
  release: {
    promise: 'an executable of each target with its own SQLite, and the same bytes wherever it is built',
    files: ['tests/integration/install/release'],
    environment: { ALL_TARGETS: '1' },
  },
  pages: {
    promise:
      'each page of the dashboard fails by a status and by a lost connection, and goes on; no view of it jumps or shuts out',
    files: ['tests/e2e/every-page'],
    environment: { EVERY_FAULT: '1' },
  },
  hosts: {
    promise: 'names that are not served, told in any way on any port, reach nothing',
    files: ['tests/integration/agent-proxy/hosts', 'tests/integration/agent-proxy/http'],
    times: 10,
  },
  lockout: {
    promise: 'strangers guess passwords, codes and links: owners get in from devices that are known',
    files: ['src/features/accounts/lockout/', 'src/features/accounts/two-factor/', 'src/features/admin/take-over/'],
    times: 10,
  },
  operation: {
    promise: 'callers who leave, clocks that jump, writes that fail, signals sent twice: told truthfully, and over',
    files: [
      ...['src/server/', 'src/core/', 'src/features/monitoring/health/', 'src/features/ai/usage/'],
      ...['src/features/accounts/passwords/change-password', 'tests/stress/signals', 'tests/integration/watchdog/'],
    ],
    times: 3,
  },
  loop: {
    promise: 'a million rows of usage and 300,000 messages: no request holds the event loop for more than 50 ms',
    files: ['tests/integration/event-loop/'],
    environment: { LOOP_PART: '1' },
  },
  writes: {
    promise: '50 times killed in the middle of 64 writers: what was acknowledged holds',
    files: ['tests/stress/kill'],
    environment: { WRITE_KILLS: '50' },
  },
  turns: {
    promise: '50 kills of the platform and 50 of the agent in the middle of a turn: none lost, none answered twice',
    files: ['tests/stress/turns'],
    environment: { TURN_KILLS: '50' },
  },
  sleep: {
    promise: '30 kills while agents fall asleep and wake: rows and processes agree, and nobody is woken by a start',
    files: ['tests/integration/journeys/sleep'],
    environment: { SLEEP_KILLS: '30' },
  },
  events: {
    promise: 'killed right after security events were taken: each is acted on once',
    files: ['src/features/accounts/security-events/crash'],
    environment: { EVENT_KILLS: '10' },
  },
  fuzz: {
    promise: '20,000 requests whatever: no fault, no insides told',
    files: ['tests/integration/fuzz/'],
    environment: { FUZZ_REQUESTS: '20000', FUZZ_WIRE_REQUESTS: '2000' },
  },
  logs: {
    promise: 'a viewer that is cut off again and again gets every line once',
    files: ['tests/stress/logs'],
    environment: { LOG_ROUNDS: '18' },
  },
  confinement: { promise: 'a hostile container slows nobody down', files: ['tests/stress/hostile'] },
  engine: {
    promise: 'an engine stopped, killed, frozen and emptied: no status is guessed',
    files: ['tests/stress/engine', 'tests/stress/swarm', 'tests/stress/restart'],
    environment: { ENGINE_ROUNDS: '17' },
  },
  processes: {
    promise: 'the platform killed at every step of a change to a process: no orphan, no ghost',
    files: ['tests/stress/deploy.test', 'src/adapters/runtimes/process/process.test'],
    environment: { CHAOS_ROUNDS: '20', PROCESS_KILLS: '20' },
  },
  containers: {
    promise: 'the platform killed at every step of a change to a container: no orphan, no ghost',
    files: ['tests/stress/deploy-docker'],
    environment: { CHAOS_ROUNDS: '20' },
  },
}
