import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { z } from 'zod'

const Found = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
)
/** Rules that axe-core disables by default. */
const MORE_RULES = { 'target-size': { enabled: true }, 'label-content-name-mismatch': { enabled: true } }

/** Returns the violations that axe-core finds on the current page, one line each. */
export async function listViolations(page: Page, { without = [] }: { without?: string[] } = {}): Promise<string[]> {
  // Evaluated instead of added as a script, which the content security policy forbids.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source)
  const rules = { ...MORE_RULES, ...Object.fromEntries(without.map((id) => [id, { enabled: false }])) }
  const options = JSON.stringify({ resultTypes: ['violations'], rules })
  const violations = Found.parse(await page.evaluate(`axe.run(${options}).then((r) => r.violations)`))
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.html} ${node.failureSummary ?? ''}`))
}
