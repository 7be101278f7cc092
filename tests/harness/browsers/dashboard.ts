import { type Browser, openBrowser, signInBrowser } from '../browser.ts'
import { type Person, signUp } from '../client.ts'
import { type House, type HouseOptions, openHouse } from '../server.ts'

export type Dashboard = Browser & { house: House; web: string; ada: Person }

/** A house whose first account is Ada's, and a browser in which she is signed in: its page shows her overview. */
export async function openDashboard(options: HouseOptions = {}): Promise<Dashboard> {
  await using stack = new AsyncDisposableStack()
  const house = stack.use(await openHouse(options))
  const { web } = (await house.start()).urls
  const ada = await signUp(web)
  const { page, complaints } = stack.use(await openBrowser(web))
  await signInBrowser(page, web)
  const everything = stack.move()
  return { house, web, ada, page, complaints, [Symbol.asyncDispose]: () => everything.disposeAsync() }
}
