import { expect, test } from 'bun:test'
import { openSite, openSummarizer } from './site.ts'

/** Expected content of a page. Links are as written; those to its own host are paths. */
type Expected = {
  title: string
  description: string
  /** The first headings, and their number. */
  headings: string[]
  headingCount: number
  /** Some links, as address and text. */
  links?: [href: string, text: string][]
  images?: [src: string, alt: string][]
  paragraph?: string
}

const PAGES: Readonly<Record<string, Expected>> = {
  '002': {
    title: 'This API is so Fetching! ✩ Mozilla Hacks – the Web developer blog',
    description:
      'For more than a decade the Web has used XMLHttpRequest (XHR) to achieve asynchronous requests in JavaScript. While very useful, XHR is not a very ...',
    headings: ['This API is so Fetching!', 'Feature detection', 'Simple fetching', 'Headers', 'Request', 'Response'],
    headingCount: 12,
    links: [
      ['/pages/002#content-main', 'Skip to content'],
      ['https://hacks.mozilla.org/', 'Home'],
      ['https://hacks.mozilla.org/demos/', 'Demos'],
    ],
    images: [
      [
        'https://secure.gravatar.com/avatar/cc6f7a60f71adaa81b7bc798ebc71be1?s=48&d=https%3A%2F%2Fsecure.gravatar.com%2Favatar%2Fad516503a11cd5ca435acc9bb6523536%3Fs%3D48&r=G',
        '',
      ],
    ],
  },
  '004-metadata-space-separated-properties': {
    title: 'Title Element',
    description: 'FAIL',
    headings: ['Test document title'],
    headingCount: 1,
  },
  'archive-of-our-own': {
    title:
      'Conversations with a Cryptid - Chapter 1 - AMournfulHowlInTheNight - 僕のヒーローアカデミア | Boku no Hero Academia | My Hero Academia [Archive of Our Own]',
    description: 'An Archive of Our Own, a project of the Organization for Transformative Works',
    headings: ['Archive of Our Own beta', 'Site Navigation', 'Actions', 'Work Header', 'Conversations with a Cryptid'],
    // 13 headings, one of them twice.
    headingCount: 12,
    links: [
      ['/', 'Archive of Our Own beta'],
      ['/users/password/new', 'Forgot password?'],
      ['/invite_requests', 'Get an Invitation'],
    ],
  },
  'base-url-base-element-relative': {
    title: 'Base URL with base relative test',
    description: '',
    headings: ['Lorem', 'Foo'],
    headingCount: 2,
    links: [
      ['/pages/base/foo/bar/baz.html', 'link'],
      ['/foo/bar/baz.html', 'link'],
      ['/pages/base/#foo', 'link'],
      ['/pages/base/baz.html#foo', 'link'],
      ['http://test/foo/bar/baz.html', 'link'],
      ['https://test/foo/bar/baz.html', 'link'],
    ],
    images: [
      ['/pages/base/foo/bar/baz.png', ''],
      ['/foo/bar/baz.png', ''],
      ['https://test/foo/bar/baz.png', ''],
    ],
  },
  blogger: {
    title: 'Silicon Exposed: Open Verilog flow for Silego GreenPak4 programmable logic devices',
    description:
      "I've written a couple of posts in the past few months but they were all for the blog at work so I figured I'm long overdue for one on Silic...",
    headings: [
      'Silicon Exposed',
      'Sunday, May 8, 2016',
      'Open Verilog flow for Silego GreenPak4 programmable logic devices',
      "So what's a GreenPak?",
      'Great! How does it work?',
    ],
    headingCount: 15,
    links: [
      ['http://siliconexposed.blogspot.tw/', 'Silicon Exposed'],
      ['http://www.silego.com/products/greenpak4.html', '4th generation'],
    ],
    images: [
      [
        'https://1.bp.blogspot.com/-YIPC5jkXkDE/Vy7YPSqFKWI/AAAAAAAAAxI/a7D6Ji2GxoUvcrwUkI4RLZcr2LFQEJCTACLcB/s640/block-diagram.png',
        '',
      ],
    ],
  },
  'google-sre-book-1': {
    title: 'Google - Site Reliability Engineering',
    description: '',
    headings: [
      'Chapter 6 - Monitoring Distributed Systems',
      'Monitoring Distributed Systems',
      'Definitions',
      'Why Monitor?',
    ],
    headingCount: 17,
    links: [
      ['/sre/sre-book/toc/', 'Table of Contents'],
      ['/sre/sre-book/chapters/preface', 'Preface'],
    ],
    images: [
      [
        'https://lh3.googleusercontent.com/YoVRtLOHMSRYQZ3OhFL8RIamcjFYbmQXX4oAQx02MRqqY9zlKNvsuZpS73khXiOqTH3qrFW27VrERJJIHTjPk-tAh46q8-Fd4w6qlw',
        'Google',
      ],
    ],
  },
  'herald-sun-1': {
    title: 'Angry media won’t buckle over new surveillance laws | Herald Sun',
    description:
      'A HIGH-powered federal government team has been doing the rounds of media organisations in the past few days in an attempt to allay concerns about the impact of new surveillance legislation on press freedom. It failed.',
    headings: [
      'Opinion',
      'Laurie Oakes',
      'Angry media won’t buckle over new surveillance laws',
      'more stories',
      'Other Opinion Columns',
      'Most Popular Stories',
    ],
    headingCount: 6,
    links: [
      ['http://m.heraldsun.com.au/', 'm.heraldsun.com.au'],
      ['/news/breaking-news', 'Breaking News'],
    ],
  },
  hukumusume: {
    title: '欲張りなイヌ ＜福娘童話集 きょうのイソップ童話＞',
    description: '',
    headings: [],
    headingCount: 0,
    links: [['/index.html', '福娘童話集']],
    images: [['/gazou/pc_gazou/all/aesop_logo_llll.gif', '福娘童話集 きょうのイソップ童話']],
  },
  'lwn-1': {
    title: 'LWN.net Weekly Edition for March 26, 2015 [LWN.net]',
    description: '',
    headings: [
      'LWN.net Weekly Edition for March 26, 2015',
      'A trademark battle in the Arduino community',
      'Mapping and data mining with QGIS 2.8',
      'Development activity in LibreOffice and OpenOffice',
      "Inside this week's LWN.net Weekly Edition",
    ],
    headingCount: 5,
    links: [
      ['/login', 'Log in now'],
      ['/Articles/637393/', 'Front page'],
    ],
    images: [
      ['/images/lcorner.png', 'LWN.net Logo'],
      ['/images/2015/03-qgis-map-sm.png', '[QGIS main interface]'],
    ],
  },
  mercurial: {
    title: 'Evolve: Shared Mutable History — evolve extension for Mercurial',
    description: '',
    headings: ['evolve extension for Mercurial', 'Evolve: Shared Mutable History', 'Evolve: Shared Mutable History¶'],
    // 18 headings, one of them three times.
    headingCount: 16,
    links: [
      ['/pages/index.html', 'evolve extension for Mercurial'],
      ['/pages/user-guide.html', 'Evolve: User Guide'],
      ['/pages/mercurial#id4', 'Evolve: Shared Mutable History'],
    ],
  },
  'quanta-1': {
    title: 'Quanta Magazine',
    description:
      'Two women programmers played a pivotal role in the birth of chaos theory. Their previously untold story illustrates the changing status of computation in',
    headings: ['The Hidden Heroines of Chaos', 'Joshua Sokol', 'The Birth of Chaos', 'Share this article'],
    // 15 headings, four of them repeated.
    headingCount: 11,
    links: [
      ['/physics/', 'Physics'],
      ['/computer-science/', 'Computer Science'],
    ],
    images: [
      [
        'https://d2r55xnwy6nx47.cloudfront.net/uploads/2019/05/LHF_2000x1000_O_Lede.gif',
        'Animated line drawing of Margaret Hamilton, Ellen Fetter, and a Lorenz attractor',
      ],
    ],
  },
  'rtl-3': {
    title: 'RTL Test',
    description: '',
    headings: ['Lorem'],
    headingCount: 1,
    paragraph: 'Lorem ipsum dolor sit amet.',
  },
  'simplyfound-1': {
    title:
      'Raspberry Pi 3 - The credit card sized PC that cost only $35 - All-time bestselling computer in UK - SimplyFound',
    description:
      'The Raspberry Pi Foundation started by a handful of volunteers in 2012 when they released the original Raspberry Pi 256MB Model B without knowing what to expect. In a short four-year period they have grown to over sixty full-time employees and ha...',
    headings: [
      'Raspberry Pi 3 - The credit card sized PC that cost only $35 - All-time bestselling computer in UK',
      'SEARCH',
      'SOCIAL',
      'COMPANY',
    ],
    headingCount: 4,
    links: [
      ['/', 'SimplyFound'],
      ['/featured', 'Featured'],
    ],
    images: [
      [
        'https://d34hb2g9mvfppu.cloudfront.net/m/images/cache/images/2016/02/29/apcnews2012raspberry_pi_logo_mainimage8_jpg8_322_27630a8388eb_lg.jpg',
        '',
      ],
    ],
  },
  'svg-parsing': { title: 'SVG parsing', description: '', headings: [], headingCount: 0 },
  telegraph: {
    title:
      "Zimbabwe coup: Robert Mugabe and wife Grace 'insisting he finishes his term', as priest steps in to mediate",
    // The page escapes it twice.
    description:
      "Zimbabwe President Robert Mugabe, his wife Grace and two key figures from her G40 political faction are under house arrest at Mugabe's &quot;Blue House&quot; compound in Harare and are insisting the 93 year-old finishes his presidential term, a source said.",
    headings: [
      "Zimbabwe coup: Robert Mugabe and wife Grace 'insisting he finishes his term', as priest steps in to mediate",
      'Related Topics',
      'Follow Telegraph News',
      'Galleries',
    ],
    // 30 headings, cut at the maximum of 20.
    headingCount: 20,
    links: [
      ['http://www.telegraph.co.uk/', ''],
      ['/premium/', 'Premium'],
      ['/news/politics/', 'Politics'],
    ],
    images: [['/content/dam/TheTelegraph_portal_white-320-small.png', 'The Telegraph']],
  },
  'title-en-dash': { title: 'Lorem ipsum dolor sit amet – My website', description: '', headings: [], headingCount: 0 },
  'wapo-2': {
    title: 'Where do strained U.S.-Israeli relations go after Netanyahu’s victory? - The Washington Post',
    description:
      'Few foreign leaders have so brazenly stood up to President Obama and the relationship could face its next test this month.',
    headings: ['Where do strained U.S.-Israeli relations go after Netanyahu’s victory?'],
    headingCount: 1,
    links: [
      ['/pages/wapo-2#', 'Sign In'],
      ['http://www.posttv.com/?nid=top_pb_posttv', 'PostTV'],
    ],
    images: [['http://www.washingtonpost.com/pb/resources/img/washingtonpost_black_32.png', 'The Washington Post']],
  },
  'webmd-2': {
    title: 'Superbugs: What They Are and How You Get Them',
    // The page contains an unescaped quotation mark, which ends the attribute.
    description: 'Drug-resistant bacteria, dubbed',
    headings: [
      'Information and Resources',
      'Superbugs: What They Are and How You Get Them',
      "But First: What's a Superbug?",
      'WebMD Video: Now Playing',
      'Health Solutions From Our Sponsors',
    ],
    headingCount: 5,
    links: [
      ['http://www.webmd.com/symptoms/default.htm', 'Symptoms'],
      ['http://doctor.webmd.com/home', 'Doctors'],
    ],
    images: [
      [
        'http://img.webmd.com/dtmcms/live/webmd/consumer_assets/site_images/home_page/webby-awards-vote.png',
        'Vote for WebMD in the Webbys',
      ],
    ],
  },
  wordpress: {
    title:
      'Stack Overflow Jobs Data Shows ReactJS Skills in High Demand, WordPress Market Oversaturated with Developers – WordPress Tavern',
    description:
      'Stack Overflow published its analysis of 2017 hiring trends based on the targeting options employers selected when posting to Stack Overflow Jobs. The report, which compares data from 200 companies…',
    headings: [
      'Secondary Menu',
      'Stack Overflow Jobs Data Shows ReactJS Skills in High Demand, WordPress Market Oversaturated with Developers',
      'Share this:',
      'Like this:',
      'Related',
      'There are 13 comments',
    ],
    headingCount: 12,
    links: [
      ['http://www.wptavern.com/', 'Home'],
      ['https://wptavern.com/category/bbpress', 'bbPress'],
    ],
    images: [
      ['https://wptavern.com/wp-content/themes/stargazer-child-dev/images/tavernlogo@2x.png', 'WordPress Tavern Logo'],
    ],
  },
}

test.each(Object.entries(PAGES))('real page %s: extracts title, text and metadata', async (name, expected) => {
  const site = openSite()
  const { summarize, extract } = openSummarizer()
  const url = `${site.url}/pages/${name}`
  const here = (address: string) => (address.startsWith('/') ? site.url + address : address)

  const summary = await summarize(url)
  expect(summary.title).toBe(expected.title)
  expect(summary.description).toBe(expected.description)
  expect(summary.headings.slice(0, expected.headings.length)).toEqual(expected.headings)
  expect(summary.headings).toHaveLength(expected.headingCount)
  if (expected.paragraph) expect(summary.paragraphs).toContain(expected.paragraph)

  const { links, images } = await extract(url)
  for (const [href, text] of expected.links ?? []) expect(links).toContainEqual({ href: here(href), text })
  for (const [src, alt] of expected.images ?? []) expect(images).toContainEqual({ src: here(src), alt })
  if (!expected.links) expect(links).toEqual([])
  if (!expected.images) expect(images.every(({ src }) => src.startsWith('http'))).toBe(true)
})
