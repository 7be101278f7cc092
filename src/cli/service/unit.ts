/** Where the service runs from, and as whom. `user` is null for a unit of one's own. */
export type ServicePlan = {
  command: readonly string[]
  dataDir: string
  user: string | null
  /** Groups beside the user's own: `docker`, to let agents run in containers. */
  groups: readonly string[]
  /** Folders outside of the data folder that settings make the service write to. */
  writePaths: readonly string[]
}

/** The settings of an installed definition; `writePaths` is null when the service may write wherever its user may. */
export type InstalledService = { dataDir: string; user: string | null; groups: string[]; writePaths: string[] | null }

/** Also without namespaces, which the manager of one user cannot always make. */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  // Allowed again: workers ask how many processors they may use, and files are limited by it.
  'SystemCallFilter=sched_setaffinity sched_setscheduler setrlimit prlimit64 setpriority',
  'SystemCallErrorNumber=EPERM',
]

const SYSTEM_HARDENING = [
  'ProtectSystem=strict',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectProc=invisible',
  'PrivateDevices=yes',
  'PrivateTmp=yes',
  'RemoveIPC=yes',
]

/**
 * The unit of systemd. The program writes code at run time (it has a JIT), so `MemoryDenyWriteExecute` is not set; agents
 * that are processes live in the unit's group and go on while the service restarts, so it alone is stopped.
 */
export function toUnit({ command, dataDir, user, groups, writePaths }: ServicePlan): string {
  const isInHome = [dataDir, ...writePaths, ...command].some((path) => /^\/(?:home|root|run\/user)\//.test(path))
  const own = [
    `User=${user}`,
    ...(groups.length > 0 ? [`SupplementaryGroups=${groups.join(' ')}`] : []),
    // A folder that is missing, as a disk that is not mounted, must not keep the service from starting.
    `ReadWritePaths=${[dataDir, ...writePaths.map((path) => `-${path}`)].map(toPathWord).join(' ')}`,
    // What stands in a home can be reached there alone.
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

/** Reads a unit that `toUnit` wrote, of this or an earlier version; null when it is none. */
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
  }
}

/** In quotes, without what systemd would expand in a command line. */
function toWord(text: string): string {
  return toPathWord(text.replaceAll('$', '$$$$'))
}

/** In quotes where needed; `%` begins a specifier. */
function toPathWord(text: string): string {
  const plain = text.replaceAll('%', '%%')
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`
}

function splitPathWords(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain = '']) =>
    (quoted?.replace(/\\(.)/g, '$1') ?? plain).replaceAll('%%', '%').replace(/^-/, ''),
  )
}

/** The property list of launchd: starts it with the machine or the session, and again when it fails. */
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
