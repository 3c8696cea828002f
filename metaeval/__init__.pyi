"""Types of the public interface, made by `python docs/interface_page.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from metaeval.analyses.arrays import evaluate_arrays as evaluate_arrays
from metaeval.api import evaluate_scores as evaluate_scores
from metaeval.api import load_corpus as load_corpus
from metaeval.api import load_ratings as load_ratings
from metaeval.api import score as score
from metaeval.config import RunConfig as RunConfig
from metaeval.corpus.model import Citation as Citation
from metaeval.corpus.model import Corpus as Corpus
from metaeval.corpus.model import Document as Document
from metaeval.corpus.model import Evidence as Evidence
from metaeval.corpus.model import Statement as Statement
from metaeval.corpus.model import SupportLevel as SupportLevel
from metaeval.corpus.ratings import Rating as Rating
from metaeval.corpus.ratings import Ratings as Ratings
from metaeval.report.result import Result as Result
from metaeval.scoring.contract import Metric as Metric
from metaeval.scoring.contract import MetricCard as MetricCard
from metaeval.scoring.contract import MetricOptions as MetricOptions
from metaeval.scoring.contract import PairScore as PairScore
from metaeval.scoring.contract import Status as Status
from metaeval.scoring.functions import metric as metric

__version__: str
ANALYSES: Mapping[str, str]
HOMES: Mapping[str, str]

def check_gate(
    answers: Any,
    gate: Any,
    max_unsupported: float | None = None,
    fail_on_drift: bool = False,
    junit: str | Path | None = None,
    markdown: str | Path | None = None,
    columns: Mapping[str, str] = ...,
    sources: str | Path | None = None,
    *,
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
class cite:
    def __new__(cls, name: Any, /, *args: Any, **settings: Any) -> Any: ...
    @staticmethod
    def agreement(
        *files: Any,
        labels: str | Sequence[str] = ...,
        against: str | None = None,
        encoding: str = '',
        results: str | Path = ...,
        budget: float | None = None,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def alce(
        *files: Any,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        premise: str = 'joint',
        profile: str = 'paper',
        measures: str | Sequence[str] = ...,
        reader: str = 'gaotianyu1350/roberta-large-squad',
        mauve_model: str = 'gpt2-large',
        units: str = 'sentences',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        batch: str | Path | None = None,
        requests: str | Path | None = None,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def aliice(
        *files: Any,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        premise: str = 'joint',
        profile: str = 'paper',
        measures: str | Sequence[str] = ...,
        reader: str = 'gaotianyu1350/roberta-large-squad',
        mauve_model: str = 'gpt2-large',
        parser: str = 'small',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        batch: str | Path | None = None,
        requests: str | Path | None = None,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def citeeval(
        *files: Any,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        profile: str = 'paper',
        scenario: str = 'full',
        coefficients: str | Path | None = None,
        baselines: str | Sequence[str] = ...,
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def convert(
        *files: str | Path,
        output: str | Path | None = None,
        format: str = 'auto',
        sources: str | Path | None = None,
        encoding: str = '',
    ) -> Any: ...
    @staticmethod
    def formats(
        name: str = '',
    ) -> Any: ...
    @staticmethod
    def generate(
        file: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        output: str | Path | None = None,
        strategy: str | None = None,
        format: str = 'auto',
        *,
        encoding: str = '',
        results: str | Path = ...,
        budget: float | None = None,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def improve(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        output: str | Path | None = None,
        rounds: int = 1,
        profile: str = 'paper',
        scenario: str = 'full',
        encoding: str = '',
        results: str | Path = ...,
        budget: float | None = None,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def meta(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        human: str | Path | None = None,
        pipelines: str | Sequence[str] = ...,
        scores: str | Path | Sequence[str | Path] = ...,
        scenario: str = 'full',
        format: str = 'auto',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def refit(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        human: str | Path | None = None,
        profile: str = 'paper',
        format: str = 'auto',
        splitter: str = 'auto',
        edits: str = 'judge',
        encoding: str = '',
        results: str | Path = ...,
        budget: float | None = None,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def rewrite(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        whole: bool = False,
        profile: str = 'paper',
        parser: str = 'small',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def scifi(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        nli: str | Sequence[str] = ...,
        threshold: str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        parser: str = 'small',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def support(
        *files: Any,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        partial: float | str | None = None,
        measures: str | Sequence[str] = ...,
        denominator: str = 'answered',
        stray: str = 'forgiven',
        matched: bool = False,
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        batch: str | Path | None = None,
        requests: str | Path | None = None,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def tables(
        *files: str,
        nli: str | Sequence[str] = ...,
        threshold: float | str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        config: str | Path | None = None,
        trust_config: bool = False,
        profile: str | None = None,
        parser: str | None = None,
        splitter: str | None = None,
        format: str | None = None,
        sources: str | Path | None = None,
        premise: str = 'joint',
        human: str | Path | Sequence[str | Path] = ...,
        labels: str | Sequence[str] = ...,
        mauve_model: str = 'gpt2-large',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        batch: str | Path | None = None,
        requests: str | Path | None = None,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def tables_scifi(
        *files: Any,
        model: str | None = None,
        base_url: str | None = None,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        requests: str | Path | None = None,
        batch: str | Path | None = None,
        ask_again: str | None = None,
        nli: str | Sequence[str] = ...,
        threshold: str | None = None,
        calibration: str | Path | Sequence[str | Path] = ...,
        format: str = 'auto',
        sources: str | Path | None = None,
        splitter: str = 'auto',
        parser: str = 'small',
        table: int | Sequence[int] = ...,
        trained: str | Sequence[str] = ...,
        by: str | Sequence[str] = ...,
        tokenizer: str = 'words',
        encoding: str = '',
        results: str | Path = ...,
        store: str | Path | None = None,
        executor: Mapping[str, Any] = ...,
        budget: float | None = None,
        trust_config: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> Any: ...
def compare(
    *metrics: str,
    by: str = '',
    agreement: bool = False,
    margin: float = 0.02,
    dataset: str = 'mini',
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
    protocols: str | Sequence[str] = ...,
) -> Any: ...
class data:
    @staticmethod
    def convert(
        name: str,
        output: str | Path,
        *,
        split: str | None = None,
        data: str | Path | None = None,
        dataset_options: Mapping[str, str] = ...,
        columns: Mapping[str, str] = ...,
    ) -> Any: ...
    @staticmethod
    def fetch(
        name: str,
        split: str | None = None,
    ) -> Any: ...
    @staticmethod
    def list(
    ) -> Any: ...
    @staticmethod
    def show(
        name: str,
        human: str | Path | None = None,
        *,
        split: str | None = None,
        data: str | Path | None = None,
        dataset_options: Mapping[str, str] = ...,
        columns: Mapping[str, str] = ...,
    ) -> Any: ...
    @staticmethod
    def validate(
        file: str | Path,
    ) -> Any: ...
    @staticmethod
    def verify(
        name: str,
        data: str | Path | None = None,
    ) -> Any: ...
def estimate(
    answers: Any,
    labels: Any = None,
    metric: str = 'overlap',
    other: Any = None,
    estimand: Literal['set', 'process'] = 'set',
    pipeline: Literal['', 'alce', 'aliice'] = '',
    columns: Mapping[str, str] = ...,
    sources: str | Path | None = None,
    assume_sample: bool = False,
    *,
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
def evaluate(
    *files: str | Path,
    by: str = '',
    data: Any = None,
    config: str | Path | None = None,
    dataset: str = 'mini',
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    controls: bool = True,
    protocols: str | Sequence[str] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
def fit_gate(
    answers: Any,
    labels: Any = None,
    metrics: str | Sequence[str] = ...,
    output: str | Path | None = None,
    max_missed: float = 0.1,
    max_flagged: float = 0.5,
    max_unsupported: float = 0.2,
    alpha: float = 0.05,
    target: Literal['partial', 'full'] = 'partial',
    promise: Literal['confidence', 'mean'] = 'confidence',
    columns: Mapping[str, str] = ...,
    sources: str | Path | None = None,
    assume_sample: bool = False,
    *,
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
def label(
    answers: Any,
    n: int = 60,
    design: str = 'random',
    sampling_unit: str = 'item',
    metric: str = 'overlap',
    seed: int = 0,
    output: str | Path | None = None,
    existing_labels: Any = None,
    pipeline: Literal['', 'alce', 'aliice'] = '',
    form: str = 'support',
    columns: Mapping[str, str] = ...,
    sources: str | Path | None = None,
    *,
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
class metrics:
    @staticmethod
    def list(
    ) -> Any: ...
    @staticmethod
    def show(
        name: str,
        **settings: Any,
    ) -> Any: ...
    @staticmethod
    def verify(
        name: str,
        official: bool = False,
        **settings: Any,
    ) -> Any: ...
def multiverse(
    axes: str | Sequence[str] = ...,
    measure: str = '',
    *,
    dataset: str = 'mini',
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    metrics: str | Sequence[str] = ...,
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
    protocols: str | Sequence[str] = ...,
) -> Any: ...
def pairs(
    corpus: Any | None = None,
    output: str | Path | None = None,
    *,
    config: str | Path | None = None,
    dataset: str = 'mini',
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    controls: bool = True,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    trust_config: bool = False,
) -> Any: ...
def plan(
    *metrics: str,
    difference: float | Sequence[float] = ...,
    protocol: str = '',
    measure: str = '',
    half_width: float | None = None,
    share: float | None = None,
    items: int | None = None,
    dataset: str = 'mini',
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
class results:
    @staticmethod
    def cases(
        job: str = 'latest',
        metrics: str | Sequence[str] = ...,
        cases: int = 3,
        data: str | Path | None = None,
        format: str = 'terminal',
        output: str | Path | None = None,
        *,
        results: str | Path = ...,
    ) -> Any: ...
    @staticmethod
    def export(
        job: str = 'latest',
        format: str | Sequence[str] = ...,
        output: str | Path | None = None,
        labels: Mapping[str, str] = ...,
        *,
        results: str | Path = ...,
    ) -> Any: ...
    @staticmethod
    def figures(
        *jobs: Mapping[str, Any] | str,
        sentence: str | None = None,
        parser: str = 'small',
        results: str | Path = ...,
        trust_config: bool = False,
    ) -> Any: ...
    @staticmethod
    def list(
        results: str | Path = ...,
    ) -> Any: ...
    @staticmethod
    def rerun(
        job: str = 'latest',
        *,
        results: str | Path = ...,
        trust_config: bool = False,
    ) -> Any: ...
    @staticmethod
    def rm(
        *jobs: str,
        results: str | Path = ...,
    ) -> Any: ...
    @staticmethod
    def show(
        job: Mapping[str, Any] | str = 'latest',
        format: Literal['terminal', 'markdown', 'latex', 'csv'] = 'terminal',
        controls: bool = False,
        labels: Mapping[str, str] = ...,
        *,
        results: str | Path = ...,
    ) -> Any: ...
def run(
    corpus: Any | None = None,
    datasets: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ...,
    requests: str | Path | None = None,
    dry_run: bool = False,
    rehash: bool = False,
    dataset: str | Sequence[str] = ...,
    suite: bool = False,
    *,
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    metrics: str | Sequence[str] = ...,
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
    batch: str | Path | None = None,
    protocols: str | Sequence[str] = ...,
    layout: Literal['flat', 'base-paper'] = 'flat',
) -> Any: ...
def score_files(
    output: str | Path = ...,
    format: Literal['jsonl', 'parquet'] = 'jsonl',
    shard: str = '',
    *,
    dataset: str = 'mini',
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    metrics: str | Sequence[str] = ...,
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
    batch: str | Path | None = None,
    requests: str | Path | None = None,
    dry_run: bool = False,
    rehash: bool = False,
) -> Any: ...
def thresholds(
    *metrics: str,
    learn: bool = False,
    target: str = 'full',
    objective: str = 'macro-f1',
    folds: int = 5,
    dataset: str = 'mini',
    config: str | Path | None = None,
    encoding: str = '',
    skip_bad_cells: bool = False,
    split: str | None = None,
    data: str | Path | None = None,
    dataset_options: Mapping[str, str] = ...,
    columns: Mapping[str, str] = ...,
    unit: Literal[
        'chunk', 'citation', 'page', 'evidence', 'statement'
    ] = 'chunk',
    chunk: Mapping[str, Any] = ...,
    evidence: Mapping[str, Any] = ...,
    pool: str = 'own',
    aggregate: str = 'max',
    cited: Literal['joined', 'each'] = 'joined',
    over_limit: Literal['chunks', 'cut'] = 'chunks',
    controls: bool = True,
    metric_options: Mapping[str, Mapping[str, Any]] = ...,
    protocol_options: Mapping[str, Mapping[str, str]] = ...,
    interval: Mapping[str, Any] = ...,
    comparison: Mapping[str, Any] = ...,
    store: str | Path | None = None,
    executor: Mapping[str, Any] = ...,
    budget: float | None = None,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
def view(
    *jobs: str,
    output: str | Path = ...,
    data: str | Path | None = None,
    max_pairs: int = 5000,
    explain: str | Sequence[str] = ...,
    all: bool = False,
    open: bool = False,
    results: str | Path = ...,
    trust_config: bool = False,
) -> Any: ...
