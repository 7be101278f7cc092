import type { PersonalList } from '../../../db/personal-data.ts'
import { personalInstallations } from '../../agents/installations/personal.ts'
import { personalAgents } from '../../agents/registry/personal.ts'
import { personalPauses } from '../../models/breakers/personal.ts'
import { personalProviderKeys } from '../../models/own-keys/personal.ts'
import { personalToolEvents, personalUsage } from '../../models/usage/personal.ts'
import { personalSubscriptions } from '../../money/cards/personal.ts'
import { personalLedger } from '../../money/ledger/personal.ts'
import { personalGatewayPayments } from '../../money/paid-gateway/personal.ts'
import { personalReceipts } from '../../money/receipts/personal.ts'
import { personalEscrows, personalTickets } from '../../money/settlement/personal.ts'
import { personalCalendar, personalInstalledSkills, personalOwnSkills } from '../../money/skills/personal.ts'
import { personalSplitRules, personalSplits } from '../../money/splits/personal.ts'
import { personalBookings, personalBusMessages, personalEvents } from '../../money/underground/personal.ts'
import { personalManagedWallets, personalPayments } from '../../money/wallets/personal.ts'
import { personalReferrals } from '../../people/accounts/personal.ts'
import { personalAudit } from '../../people/audit/personal.ts'
import { personalInvites } from '../../people/invites/personal.ts'
import { personalKeys } from '../../people/keys/personal.ts'
import { personalMailedLinks } from '../../people/mails/personal.ts'
import { personalNoticeChannels, personalNoticeSettings, personalNotices } from '../../people/notices/personal.ts'
import { personalSessions } from '../../people/sessions/personal.ts'
import { personalIdentities, personalWallets } from '../../people/sign-in/personal.ts'
import { personalCredentials } from '../../talk/agent-talk/personal.ts'
import { personalToolSettings } from '../../talk/agent-tools/personal.ts'
import { personalApprovals } from '../../talk/approvals/personal.ts'
import { personalAttachments, personalChatSessions, personalMessages, personalTurns } from '../../talk/chat/personal.ts'
import { personalHeartbeat } from '../../talk/heartbeat/personal.ts'
import { personalInbox } from '../../talk/inbox/personal.ts'
import { personalMcpServers } from '../../talk/mcp-servers/personal.ts'
import { personalMemory } from '../../talk/memory/personal.ts'
import { personalScheduledRuns, personalScheduledTasks } from '../../talk/scheduled-tasks/personal.ts'
import { personalSwarmRuns, personalSwarms } from '../../talk/swarms/personal.ts'
import { personalRadioStreams } from '../../web-tools/radio/personal.ts'
import { personalVideos } from '../../web-tools/video/personal.ts'

/** What rooms keep of somebody, in the order in which it stands in the document. */
export const PERSONAL_LISTS: readonly PersonalList[] = [
  personalSessions,
  personalKeys,
  personalIdentities,
  personalWallets,
  personalMailedLinks,
  personalReferrals,
  personalInvites,
  personalNoticeSettings,
  personalNoticeChannels,
  personalNotices,
  personalAgents,
  personalInstallations,
  personalScheduledTasks,
  personalScheduledRuns,
  personalHeartbeat,
  personalSwarms,
  personalSwarmRuns,
  personalMemory,
  personalApprovals,
  personalToolSettings,
  personalMcpServers,
  personalCredentials,
  personalRadioStreams,
  personalVideos,
  personalChatSessions,
  personalInbox,
  personalMessages,
  personalTurns,
  personalAttachments,
  personalProviderKeys,
  personalPauses,
  personalSubscriptions,
  personalReceipts,
  personalGatewayPayments,
  personalLedger,
  personalManagedWallets,
  personalPayments,
  personalUsage,
  personalToolEvents,
  personalOwnSkills,
  personalInstalledSkills,
  personalCalendar,
  personalEvents,
  personalSplits,
  personalSplitRules,
  personalEscrows,
  personalTickets,
  personalBookings,
  personalBusMessages,
  personalAudit,
]
