/** What models cost: in the card of the ring, and on the page of what the model sees. */
import type { Costs, CostsResult } from "../protocol.gen";
import { COSTS } from "../texts";
import { ANSWERS, describeTokens, helpers, money, ofPurpose, price, sumOf, tokensOf } from "./costs";
import { counted, date, percent, short } from "./figures";
import { visible } from "./visible";

/** The sums of the conversation and the folder, where there are any. */
export function CostSums({ costs }: { readonly costs: CostsResult }) {
    const { conversation, today, month } = costs;
    if (month.lines.length === 0 && (conversation === undefined || conversation.lines.length === 0)) {
        return null;
    }
    return (
        <dl class="sums" data-testid="cost-sums">
            {conversation !== undefined && <Sum name={COSTS.conversation} costs={conversation} />}
            <Sum name={COSTS.today} costs={today} />
            <Sum name={COSTS.month} costs={month} />
            <Everywhere costs={costs} />
        </dl>
    );
}

function Sum({ name, costs, withTokens = false }: { readonly name: string; readonly costs: Costs; readonly withTokens?: boolean }) {
    return <div title={describeTokens(costs)}><dt>{name}{withTokens && <small>{describeTokens(costs)}</small>}</dt><dd class="num">{sumOf(costs)}</dd></div>;
}

/** All folders together, where that says more than the folder, or a budget counts it. */
function Everywhere({ costs: { everywhereDollars, budgetDollars, month } }: { readonly costs: CostsResult }) {
    const isMore = everywhereDollars - month.dollars > 0.000_05;
    return budgetDollars === undefined && !isMore ? null : (
        <div><dt>{COSTS.everywhere}</dt><dd class="num">{money(everywhereDollars)}{budgetDollars !== undefined && ` ${COSTS.of} ${money(budgetDollars)}`}</dd></div>
    );
}

export function CostSection({ costs }: { readonly costs: CostsResult }) {
    const { conversation } = costs;
    if (conversation === undefined || (conversation.lines.length === 0 && costs.month.lines.length === 0)) {
        return null;
    }
    const answers = ofPurpose(conversation, (purpose) => purpose === ANSWERS);
    const helped = helpers(conversation);
    const all = tokensOf(conversation);
    const own = tokensOf(answers);
    const unpriced = [...new Set(conversation.lines.filter((each) => each.dollars === undefined).map((each) => each.model))];
    return (
        <section>
            <h2>{COSTS.title}</h2>
            <dl class="facts-table" data-testid="cost">
                <div><dt>{COSTS.cells.sent}</dt><dd>{short(all.sent)}<small>{counted(all.calls, "request")}</small></dd></div>
                <div><dt>{COSTS.cells.cached}</dt><dd>{percent(all.cached, all.sent)}<small>{COSTS.ofSent}</small></dd></div>
                <div><dt>{COSTS.cells.answers}</dt><dd>{short(own.answered)}<small>{all.answered > own.answered ? COSTS.andHelp(short(all.answered - own.answered)) : COSTS.answeredTokens}</small></dd></div>
                <div><dt>{COSTS.cells.price}</dt><dd>{price(conversation) ?? "–"}<small>{unpriced.length > 0 ? COSTS.noPrice(visible(unpriced.join(", "))) : COSTS.prices(date(new Date(`${costs.pricesAsOf}T00:00`)))}</small></dd></div>
            </dl>
            <dl class="sums with-tokens" data-testid="cost-parts">
                <Sum name={COSTS.cells.answers} costs={answers} withTokens />
                {helped.map(([name, each]) => <Sum key={name} name={name} costs={each} withTokens />)}
                <Sum name={COSTS.today} costs={costs.today} />
                <Sum name={COSTS.month} costs={costs.month} />
                <Everywhere costs={costs} />
            </dl>
        </section>
    );
}
