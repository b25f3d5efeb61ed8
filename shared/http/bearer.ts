/** The token of an `Authorization: Bearer …` header; undefined when there is none. */
export const bearerToken = (header: string | undefined): string | undefined =>
  /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(header ?? '')?.[1]
