import type { Metafile } from "esbuild";

export function thirdParty(root: string, metafiles: Metafile[]): string;
