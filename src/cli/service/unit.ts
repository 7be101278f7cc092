/** Executable, folder and user of the service; `user` is null for a user unit. */
export type ServicePlan = {
  command: readonly string[]
  dataDir: string
  user: string | null
  /** Supplementary groups: `docker` allows agents in containers. */
  groups: readonly string[]
  /** Writable folders outside of the data folder. */
  writePaths: readonly string[]
}

/**
 * Parsed definition; `writePaths` is null when the service may write wherever its user may. `allowsSandboxes` is false
 * for a definition of an earlier version, under which bubblewrap does not work.
 */
export type InstalledService = {
  dataDir: string
  user: string | null
  groups: string[]
  writePaths: string[] | null
  allowsSandboxes: boolean
}

/**
 * Options that work without namespaces, which a user manager may not be able to create. Bubblewrap isolates agents within
 * them: it needs namespaces, so `RestrictNamespaces` is left out, and the system calls of mounts and capabilities.
 */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  // Allowed because workers read the processor count and file limits.
  'SystemCallFilter=sched_setaffinity sched_setscheduler setrlimit prlimit64 setpriority',
  'SystemCallFilter=mount umount2 pivot_root capset',
  'SystemCallErrorNumber=EPERM',
]

/**
 * The kernel lets bubblewrap mount `/proc` only where the service sees all of it. `ProtectKernelTunables`,
 * `ProtectKernelLogs` and `ProtectHostname` cover parts of it, so they are left out: without capabilities the service
 * cannot write those files, and the filter above refuses `syslog` and `sethostname`. `/sys` stays read-only.
 */
const SYSTEM_HARDENING = [
  'ProtectSystem=strict',
  'ReadOnlyPaths=/sys',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectKernelModules=yes',
  'ProtectProc=invisible',
  'PrivateDevices=yes',
  'PrivateTmp=yes',
  'RemoveIPC=yes',
]

/**
 * Returns the systemd unit. `MemoryDenyWriteExecute` is not set because of the JIT. Agent processes are in the unit's
 * control group and survive a restart, so only the main process is stopped.
 */
export function toUnit({ command, dataDir, user, groups, writePaths }: ServicePlan): string {
  const isInHome = [dataDir, ...writePaths, ...command].some((path) => /^\/(?:home|root|run\/user)\//.test(path))
  const own = [
    `User=${user}`,
    ...(groups.length > 0 ? [`SupplementaryGroups=${groups.join(' ')}`] : []),
    // The `-` prefix lets the service start without a missing folder, such as an unmounted disk.
    `ReadWritePaths=${[dataDir, ...writePaths.map((path) => `-${path}`)].map(toPathWord).join(' ')}`,
    // A path below a home folder requires access to that home only.
    `ProtectHome=${isInHome ? 'read-only' : 'yes'}`,
    ...SYSTEM_HARDENING,
  ]
  return `[Unit]
Description=Stead: creates, runs and bills AI agents
After=network-online.target${groups.includes('docker') ? ' docker.service' : ''}
Wants=network-online.target

[Service]
Type=notify
NotifyAccess=main
ExecStart=${[...command, 'serve', '--data-dir', dataDir].map(toWord).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=${dataDir.replaceAll('%', '%%')}
UMask=0077
Restart=on-failure
RestartSec=2
# A bad setting or wrong usage does not mend itself.
RestartPreventExitStatus=78 2
KillMode=process
TimeoutStartSec=10min
TimeoutStopSec=30
WatchdogSec=60
LimitNOFILE=65536
${[...(user === null ? [] : own), ...HARDENING].join('\n')}

[Install]
WantedBy=${user === null ? 'default.target' : 'multi-user.target'}
`
}

/** Parses a unit written by `toUnit` of this or an earlier version; null when it is not one. */
export function parseUnit(unit: string): InstalledService | null {
  const lines = unit.split('\n')
  const find = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1)
  const dataDir = find('WorkingDirectory')?.replaceAll('%%', '%')
  if (dataDir === undefined) return null
  const paths = find('ReadWritePaths')
  return {
    dataDir,
    user: find('User') ?? null,
    groups: find('SupplementaryGroups')?.split(' ') ?? [],
    writePaths: paths === undefined ? null : splitPathWords(paths).filter((path) => path !== dataDir),
    allowsSandboxes: !lines.includes('RestrictNamespaces=yes'),
  }
}

/** Quotes a word of a command line and escapes what systemd would expand. */
function toWord(text: string): string {
  return toPathWord(text.replaceAll('$', '$$$$'))
}

/** Quotes a value if needed; `%` starts a specifier. */
function toPathWord(text: string): string {
  const plain = text.replaceAll('%', '%%')
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`
}

function splitPathWords(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain = '']) =>
    (quoted?.replace(/\\(.)/g, '$1') ?? plain).replaceAll('%%', '%').replace(/^-/, ''),
  )
}

/** Returns the launchd property list: starts at boot or login, restarts after a failure. */
export function toPropertyList({ command, dataDir, user }: ServicePlan, label: string): string {
  const entry = (text: string) => `    <string>${escapeXml(text)}</string>`
  const log = escapeXml(`${dataDir}/logs/service.log`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${[...command, 'serve', '--data-dir', dataDir].map(entry).join('\n')}
  </array>
  <key>WorkingDirectory</key>
  <string>${escapeXml(dataDir)}</string>
${user === null ? '' : `  <key>UserName</key>\n  <string>${escapeXml(user)}</string>\n`}  <key>Umask</key>
  <integer>63</integer>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>ExitTimeOut</key>
  <integer>30</integer>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>StandardOutPath</key>
  <string>${log}</string>
  <key>StandardErrorPath</key>
  <string>${log}</string>
</dict>
</plist>
`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
