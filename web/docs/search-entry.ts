/** A part of a page as the search finds it. */
export type SearchEntry = { page: string; heading: string; address: string; text: string }
