/** A style sheet is a part of the one file; the build puts its text in. */
declare module '*.css' {
  const text: string;
  export default text;
}
