/** Which links of a model's answer can be followed at all. The host asks before it opens one. */
const FOLLOWED = new Set(["http:", "https:", "file:"]);

/** The address as it would be opened; undefined for one that is no link to a page or file, such as `command:`. */
export function followable(href: string): string | undefined {
    // eslint-disable-next-line no-control-regex
    if (/[\u0000-\u0020\u007f\\]/.test(href)) {
        return undefined;
    }
    try {
        const url = new URL(href);
        return FOLLOWED.has(url.protocol) && url.username === "" && url.password === "" ? url.href : undefined;
    } catch {
        return undefined;
    }
}
