export type Case = {
  description: string
  /** Parts of the paths of its test files. */
  files: readonly string[]
  /** Repeats each file, for tests that read no count from the environment. */
  times?: number
  /** Counts that the tests read by `roundsOf`. */
  environment?: Readonly<Record<string, string>>
}

/** The stress tests in the order in which they run, quick ones first. */
export const CASES: Readonly<Record<string, Case>> = {
  watchdog: {
    description: 'The watchdog and its model agree on 100,000 random histories',
    files: ['tests/integration/watchdog/model'],
    environment: { WATCHDOG_MODEL_RUNS: '100000' },
  },
  profile: {
    description: '5,000 container specs stay within the security profile',
    files: ['src/adapters/runtimes/engine/container.test.ts'],
    environment: { SPEC_RUNS: '5000' },
  },
  nat: {
    description: 'A machine behind NAT loses no message in an hour of load with 20 disconnects',
    files: ['tests/integration/machines/nat'],
    environment: { NAT_DISCONNECTS: '20', NAT_PERIOD_SECONDS: '165' },
  },
  races: {
    description: '200 concurrent requests, 50 times: one wins, no limit is exceeded',
    files: ['tests/integration/races/', 'tests/stress/ports'],
    environment: { RACE_ROUNDS: '50', PORT_AGENTS: '100' },
  },
  providers: {
    description: 'A request is answered in full under any provider fault while one provider is healthy',
    files: ['tests/integration/gateway/'],
    environment: { FAULT_RUNS: '1000' },
  },
  hostile: {
    description: 'Hostile URLs, pages, paths and repositories reach nothing internal',
    files: ['tests/integration/egress/', 'tests/integration/browse/'],
    environment: { REBINDS: '6000', SWAPS: '50000', GIT_KILLS: '12', BROWSE_OPERATIONS: '20000' },
  },
  flood: {
    description: 'Health routes answer during floods of logins and hostile pages',
    files: ['tests/integration/overload/', 'tests/integration/summarizer/hostile'],
    environment: { FLOOD_SECONDS: '30', HOSTILE_BODIES: '500' },
  },
  bodies: {
    description: 'Slow and concurrent request bodies hold neither memory nor connections',
    files: ['bodies/'],
    environment: { BODY_STRICT: '1' },
  },
  commits: {
    description: 'Repositories stay valid when the server is killed during commits',
    files: ['tests/integration/browse/git-crash'],
    environment: { GIT_KILLS: '200' },
  },
  abandoned: {
    description: '4,000 clients disconnect early: delivered tokens are recorded, no budget is exceeded',
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
    description: 'Cookies set by agent pages take over no session and lock out no user',
    files: ['tests/e2e/cookies', 'tests/e2e/networks'],
    times: 10,
  },
  images: {
    description: 'Owners set arbitrary image names: the engine contacts no registry and no agent stops',
    files: ['src/features/agents/operations/images'],
    times: 20,
  },
  payments: {
    description: 'No payment is doubled, unaudited or left open when the server is killed during payments',
    files: ['tests/stress/payments', 'tests/stress/paid-calls'],
    environment: { PAYMENT_KILLS: '100' },
  },
  economy: {
    description: '200 concurrent uses of a key, signature, escrow, ticket, split or card event have one effect',
    files: ['src/features/payments/', 'tests/integration/economy/'],
    times: 20,
    environment: { SPLIT_RECIPIENTS: '40' },
  },
  keys: {
    description: 'API keys act within scopes and limits, and tokens and keys are rotated safely',
    files: [
      ...['src/features/accounts/keys/', 'src/features/ai/gateway/key-limits', 'src/features/ai/gateway/key-report'],
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
    description: 'Quotas, retention, the WAL and a full disk keep the promised data and no more',
    files: ['src/features/agents/storage/', 'src/features/admin/retention/', 'src/db/'],
    times: 5,
  },
  backups: {
    description: '100 backups under 500 rows a second and 100 kills of each command: no difference, nothing partial',
    files: ['tests/integration/backups/', 'tests/integration/journeys/backup'],
    environment: { BACKUPS: '100', BACKUP_KILLS: '100' },
  },
  release: {
    description: 'Executables for every target include SQLite and are reproducible',
    files: ['tests/integration/install/release'],
    environment: { ALL_TARGETS: '1' },
  },
  pages: {
    description: 'Every dashboard page recovers from error statuses and lost connections, without layout shift',
    files: ['tests/e2e/every-page'],
    environment: { EVERY_FAULT: '1' },
  },
  hosts: {
    description: 'Unserved host names reach nothing, on any port and in any form',
    files: ['tests/integration/agent-proxy/hosts', 'tests/integration/agent-proxy/http'],
    times: 10,
  },
  lockout: {
    description: 'Owners sign in from known devices while strangers guess passwords, codes and links',
    files: ['src/features/accounts/lockout/', 'src/features/accounts/two-factor/', 'src/features/admin/take-over/'],
    times: 10,
  },
  operation: {
    description: 'Disconnecting clients, clock jumps, failed writes and repeated signals are reported and end',
    files: [
      ...['src/server/', 'src/core/', 'src/features/monitoring/health/', 'src/features/ai/usage/'],
      ...['src/features/accounts/passwords/change-password', 'tests/stress/signals', 'tests/integration/watchdog/'],
    ],
    times: 3,
  },
  loop: {
    description: 'With a million usage rows and 300,000 messages no request blocks the event loop for more than 50 ms',
    files: ['tests/integration/event-loop/'],
    environment: { LOOP_PART: '1' },
  },
  writes: {
    description: 'Acknowledged writes survive 50 kills during 64 concurrent writers',
    files: ['tests/stress/kill'],
    environment: { WRITE_KILLS: '50' },
  },
  cluster: {
    description:
      'A cluster on machines of its own loses nothing over 5 losses each of a node, its database and its network',
    files: ['tests/stress/cluster/'],
    environment: { CLUSTER_ROUNDS: '5' },
  },
  turns: {
    description: 'No chat turn is lost or answered twice over 50 kills of the platform and 50 of the agent',
    files: ['tests/stress/turns'],
    environment: { TURN_KILLS: '50' },
  },
  sleep: {
    description: 'Rows and processes agree after 30 kills while agents fall asleep and wake',
    files: ['tests/integration/journeys/sleep'],
    environment: { SLEEP_KILLS: '30' },
  },
  events: {
    description: 'Each security event is applied once when the server is killed right after receiving it',
    files: ['src/features/accounts/security-events/crash'],
    environment: { EVENT_KILLS: '10' },
  },
  fuzz: {
    description: '20,000 random requests cause no internal error and leak no internals',
    files: ['tests/integration/fuzz/'],
    environment: { FUZZ_REQUESTS: '20000', FUZZ_WIRE_REQUESTS: '2000' },
  },
  logs: {
    description: 'A log viewer that reconnects again and again receives every line once',
    files: ['tests/stress/logs'],
    environment: { LOG_ROUNDS: '18' },
  },
  confinement: { description: 'A hostile container does not slow down others', files: ['tests/stress/hostile'] },
  engine: {
    description: 'Agent status stays correct while the engine is stopped, killed, frozen and emptied',
    files: ['tests/stress/engine', 'tests/stress/swarm', 'tests/stress/restart'],
    environment: { ENGINE_ROUNDS: '17' },
  },
  processes: {
    description: 'Killing the platform at every step of a process change leaves no orphan and no stale row',
    files: ['tests/stress/deploy.test', 'src/adapters/runtimes/process/process.test'],
    environment: { CHAOS_ROUNDS: '20', PROCESS_KILLS: '20' },
  },
  containers: {
    description: 'Killing the platform at every step of a container change leaves no orphan and no stale row',
    files: ['tests/stress/deploy-docker'],
    environment: { CHAOS_ROUNDS: '20' },
  },
}
