import bookingSettlement from './builtin/booking-settlement.md' with { type: 'text' }
import eventScheduler from './builtin/event-scheduler.md' with { type: 'text' }
import eventTicketing from './builtin/event-ticketing.md' with { type: 'text' }
import festivalFinder from './builtin/festival-finder.md' with { type: 'text' }
import guestlistManager from './builtin/guestlist-manager.md' with { type: 'text' }
import instantSplit from './builtin/instant-split.md' with { type: 'text' }
import pressReleaseWriter from './builtin/press-release-writer.md' with { type: 'text' }
import releasePlanner from './builtin/release-planner.md' with { type: 'text' }
import royaltyTracker from './builtin/royalty-tracker.md' with { type: 'text' }
import setlistOracle from './builtin/setlist-oracle.md' with { type: 'text' }
import tourPlanner from './builtin/tour-planner.md' with { type: 'text' }
import venueFinder from './builtin/venue-finder.md' with { type: 'text' }
import visualSynthesizer from './builtin/visual-synthesizer.md' with { type: 'text' }
import { parseSkillText, type SkillText } from './skill-text.ts'

/** Shown first. */
const FEATURED: ReadonlySet<string> = new Set([
  'event-ticketing',
  'booking-settlement',
  'instant-split',
  'setlist-oracle',
])

/** Skills that come with the program; they are part of the executable. */
export const BUILT_IN: ReadonlyMap<string, SkillText> = new Map(
  [
    eventTicketing,
    eventScheduler,
    venueFinder,
    festivalFinder,
    royaltyTracker,
    setlistOracle,
    visualSynthesizer,
    bookingSettlement,
    instantSplit,
    guestlistManager,
    pressReleaseWriter,
    tourPlanner,
    releasePlanner,
  ].map((text) => {
    const skill = parseSkillText(text)
    return [skill.name, skill]
  }),
)

export function isFeatured(name: string): boolean {
  return FEATURED.has(name)
}
