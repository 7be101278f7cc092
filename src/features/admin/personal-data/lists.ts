import type { PersonalList } from '../../../db/personal-data.ts'
import { ACCOUNTS_PERSONAL_DATA } from '../../accounts/personal.ts'
import { personalInstallations } from '../../agents/installations/service.ts'
import { personalAgents } from '../../agents/registry/agents.ts'
import { personalPauses } from '../../ai/breakers/breakers.ts'
import { personalProviderKeys } from '../../ai/own-keys/own-keys.ts'
import { personalResponses } from '../../ai/responses/store.ts'
import { personalEndUsers, personalRequestBodies, personalToolEvents, personalUsage } from '../../ai/usage/calls.ts'
import { CONVERSATIONS_PERSONAL_DATA } from '../../conversations/personal.ts'
import { PAYMENTS_PERSONAL_DATA } from '../../payments/personal.ts'
import { personalRadioStreams } from '../../web-tools/radio/streams.ts'
import { personalVideos } from '../../web-tools/video/videos.ts'

/** Personal data of each feature, in the order of the exported document. */
export const PERSONAL_LISTS: readonly PersonalList[] = [
  ...ACCOUNTS_PERSONAL_DATA,
  personalAgents,
  personalInstallations,
  ...CONVERSATIONS_PERSONAL_DATA,
  personalRadioStreams,
  personalVideos,
  personalProviderKeys,
  personalPauses,
  ...PAYMENTS_PERSONAL_DATA,
  personalUsage,
  personalRequestBodies,
  personalEndUsers,
  personalResponses,
  personalToolEvents,
]
