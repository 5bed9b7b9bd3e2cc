declare module "virtual:policy-page" {
  /** The script of the page, as `scripts/page-script.ts` bundles it. */
  const script: string;
  export default script;
}
