import { type Browser, openBrowser, signInBrowser } from '../browser.ts'
import { type Person, signUp } from '../client.ts'
import { type Installation, type InstallationOptions, openInstallation } from '../server.ts'

export type Dashboard = Browser & { installation: Installation; web: string; ada: Person }

/** Starts an installation whose first account is Ada, and opens her overview in a browser. */
export async function openDashboard(options: InstallationOptions = {}): Promise<Dashboard> {
  await using stack = new AsyncDisposableStack()
  const installation = stack.use(await openInstallation(options))
  const { web } = (await installation.start()).urls
  const ada = await signUp(web)
  const { page, complaints } = stack.use(await openBrowser(web))
  await signInBrowser(page, web)
  const everything = stack.move()
  return { installation, web, ada, page, complaints, [Symbol.asyncDispose]: () => everything.disposeAsync() }
}
