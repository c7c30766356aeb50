import Testing

@testable import PushLoop

@Suite struct MetricsTests {
    private let registry = MetricsRegistry()

    @Test("Counts of many threads are exact") func countsOfManyThreadsAreExact() async {
        let counter = registry.counter("carillon_sent_total", help: "Sent.")
        let histogram = registry.histogram("carillon_wait_seconds", help: "Waits.")
        let loops = (0..<8).map { EventLoop(name: "count-\($0)") }
        for loop in loops {
            for _ in 0..<10 {
                loop.execute {
                    for number in 0..<1000 {
                        counter.increment()
                        counter.increment(by: 2)
                        histogram.observe(.microseconds(number))
                    }
                }
            }
        }
        for loop in loops { await loop.shutDown() }
        #expect(counter.value == 240_000)
        #expect(histogram.snapshot.counts.reduce(0, +) == 80_000)
        // 80 times the sum of 0...999 microseconds.
        #expect(histogram.snapshot.sum == 80 * 499_500 / 1e6)
    }

    @Test("Series above the limit are counted and not rendered") func whatIsTooManyIsCountedAndNotShown() throws {
        let registry = MetricsRegistry(maxSeries: 100)
        ProcessMetrics.register(in: registry)
        var counters: [Counter] = []
        for number in 0..<250 {
            counters.append(registry.counter("carillon_sent_total", help: "Sent.", labels: ["app": "app\(number)"]))
        }
        // Each counter works, whether rendered or not.
        for counter in counters { counter.increment() }
        #expect(counters.allSatisfy { $0.value == 1 })
        registry.computedGauge("carillon_open", help: "Open.", labels: ["app": "one"]) { 1 }
        let page = try PrometheusReader(registry.render())
        #expect(page.value("carillon_sent_total", labels: ["app": "app99"]) == 1)
        #expect(page.value("carillon_sent_total", labels: ["app": "app100"]) == nil)
        #expect(page.value("carillon_metrics_refused_series_total") == 150)
        // A removed series makes room for another one, and the order of the rest is kept.
        for number in 0..<90 { #expect(registry.remove("carillon_sent_total", labels: ["app": "app\(number)"])) }
        #expect(!registry.remove("carillon_sent_total", labels: ["app": "app0"]))
        registry.counter("carillon_sent_total", help: "Sent.", labels: ["app": "late"]).increment(by: 7)
        let rest = registry.render().split(separator: "\n").filter { $0.hasPrefix("carillon_sent_total{") }
        #expect(rest.count == 11 && rest[0].contains("app90") && rest[10] == #"carillon_sent_total{app="late"} 7"#)
        registry.counter("carillon_sent_total", help: "Sent.", labels: ["app": "app95"]).increment()
        #expect(counters[95].value == 2)
    }

    @Test("Many series are computed together") func manyAreComputedTogether() throws {
        registry.computedGauges("carillon_state", help: "State.", labels: ["app", "status"]) {
            (0..<20_000).map { MetricValue(labels: ["app\($0)", "up"], value: Double($0)) }
        }
        registry.computedCounters("carillon_begun_total", help: "Begun.", labels: ["app"]) { [] }
        let text = registry.render()
        #expect(text.contains(#"carillon_state{app="app19999",status="up"} 19999"#))
        #expect(!text.contains("carillon_begun_total"))
    }

    @Test("A rendered page can be parsed") func pageReadsBack() throws {
        registry.counter("carillon_sent_total", help: "Sent, \\ and\nmore.", labels: ["app": "shop"]).increment(by: 3)
        registry.counter("carillon_sent_total", help: "Sent, \\ and\nmore.", labels: ["app": "a\"b\\c\nd"]).increment()
        registry.computedGauge("carillon_open", help: "Open.") { -7 }
        registry.computedGauge("carillon_level", help: "Level.") { 0.25 }
        registry.computedGauge("carillon_endless", help: "Endless.") { .infinity }
        let latency = registry.histogram(
            "carillon_latency_seconds", help: "Latency.", buckets: .init([.milliseconds(1), .milliseconds(10)]),
            labels: ["app": "shop"])
        for milliseconds in [0, 1, 2, 10, 11, 5000] { latency.observe(.milliseconds(milliseconds)) }

        let page = try PrometheusReader(registry.render())
        #expect(page.metrics.count == 5)
        #expect(page.metrics["carillon_sent_total"]?.help == "Sent, \\ and\nmore.")
        #expect(page.value("carillon_sent_total", labels: ["app": "shop"]) == 3)
        #expect(page.value("carillon_sent_total", labels: ["app": "a\"b\\c\nd"]) == 1)
        #expect(page.value("carillon_open") == -7)
        #expect(page.value("carillon_level") == 0.25)
        #expect(page.value("carillon_endless") == .infinity)
        // A value equal to a bound belongs to its bucket. Buckets are cumulative.
        #expect(page.value("carillon_latency_seconds_bucket", labels: ["app": "shop", "le": "0.001"]) == 2)
        #expect(page.value("carillon_latency_seconds_bucket", labels: ["app": "shop", "le": "0.01"]) == 4)
        #expect(page.value("carillon_latency_seconds_bucket", labels: ["app": "shop", "le": "+Inf"]) == 6)
        #expect(page.value("carillon_latency_seconds_count", labels: ["app": "shop"]) == 6)
        #expect(page.value("carillon_latency_seconds_sum", labels: ["app": "shop"]) == 5.024)
    }

    @Test("A page has the format of Prometheus") func pageIsAsTheFormatSays() {
        registry.counter("carillon_b_total", help: "B.", labels: ["kind": "x", "app": "y"]).increment()
        registry.computedGauge("carillon_a", help: "A.") { 1 }
        #expect(
            registry.render() == """
                # HELP carillon_a A.
                # TYPE carillon_a gauge
                carillon_a 1
                # HELP carillon_b_total B.
                # TYPE carillon_b_total counter
                carillon_b_total{kind="x",app="y"} 1

                """)
        #expect(MetricsRegistry().render() == "")
    }

    /// The reader rejects invalid pages, on which the other tests rely.
    @Test(
        "The test's reader is strict",
        arguments: [
            "a 1", "# HELP a A.\n# TYPE a gauge\na 1", "# HELP a A.\n# TYPE a gauge\nb 1\n",
            "# HELP a A.\n# TYPE a gauge\na 1\na 2\n", "# HELP a A.\n# TYPE a gauge\na{x=\"1\",} 2\n",
            "# HELP a A.\n# TYPE a gauge\na{x=\"\"\"} 2\n", "# HELP a A.\n# TYPE a gauge\na{x=\"\\t\"} 2\n",
            "# HELP a A.\n# TYPE a gauge\na inf\n", "# HELP a A.\n# TYPE a sum\na 1\n",
            "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
            "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
            "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n",
        ]) func readerIsStrict(_ page: String)
    {
        #expect(throws: PrometheusReader.Fault.self) { try PrometheusReader(page) }
    }

    @Test("The same registration returns the same series") func sameRegistrationGivesTheSameSeries() {
        let first = registry.counter("carillon_x_total", help: "X.", labels: ["app": "a"])
        let second = registry.counter("carillon_x_total", help: "X.", labels: ["app": "a"])
        let other = registry.counter("carillon_x_total", help: "X.", labels: ["app": "b"])
        #expect(first === second)
        #expect(first !== other)
        #expect(registry.remove("carillon_x_total", labels: ["app": "b"]))
        #expect(!registry.remove("carillon_x_total", labels: ["app": "b"]))
        #expect(!registry.render().contains("app=\"b\""))
    }

    @Test(
        "Invalid names are rejected",
        arguments: [
            ("carillon_x", .counter, [:], "_total"), ("carillon_x_total", .gauge, [:], "_total"),
            ("9lives", .gauge, [:], "digit"), ("", .gauge, [:], "name"), ("a b", .gauge, [:], "name"),
            ("a-b", .gauge, [:], "name"), ("ä", .gauge, [:], "name"), ("a", .gauge, ["1x": ""], "1x"),
            ("a", .gauge, ["__x": ""], "__x"), ("a", .gauge, ["x:y": ""], "x:y"), ("a", .gauge, ["": ""], "label"),
            ("a", .histogram, ["le": ""], "le"), ("a", .gauge, ["x": "1", "x": "2"], "duplicate"),
        ] as [(String, MetricsRegistry.Kind, MetricLabels, String)])
    func badNamesAreRefused(name: String, kind: MetricsRegistry.Kind, labels: MetricLabels, word: String) {
        #expect(MetricNames.fault(name: name, kind: kind, labels: labels)?.contains(word) == true)
    }

    @Test("Valid names are accepted") func goodNamesPass() {
        #expect(MetricNames.fault(name: "a:b_9_total", kind: .counter, labels: ["app": "ä\n"]) == nil)
        #expect(MetricNames.fault(name: "_a", kind: .gauge, labels: ["le": "1"]) == nil)
    }

    @Test("Registering a name with another kind ends the process") func anotherKindEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let registry = MetricsRegistry()
            registry.computedGauge("carillon_x", help: "X.") { 0 }
            _ = registry.histogram("carillon_x", help: "X.")
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("metric carillon_x is already registered as a gauge; it cannot also be a histogram"))
    }

    @Test("Registering a family with a known name ends the process") func aFamilyOfAKnownNameEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let registry = MetricsRegistry()
            registry.computedGauge("carillon_x", help: "X.") { 0 }
            registry.computedGauges("carillon_x", help: "X.", labels: ["app"]) { [] }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("metric carillon_x is already registered as a gauge"))
    }

    @Test("Registering a name with other labels ends the process") func otherLabelsEndTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let registry = MetricsRegistry()
            registry.computedGauge("carillon_x", help: "X.", labels: ["app": "a"]) { 0 }
            registry.computedGauge("carillon_x", help: "X.", labels: ["kind": "a"]) { 0 }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("metric carillon_x is already registered with the labels [\"app\"]"))
    }

    @Test("A name that collides with those of a histogram ends the process")
    func namesThatOverlapAHistogramEndTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricsRegistry()
            _ = registry.histogram("carillon_x", help: "X.")
            registry.computedGauge("carillon_x_count", help: "X.") { 0 }
        }
    }

    @Test("Process metrics have plausible values") func processMetricsAreTrue() throws {
        ProcessMetrics.register(in: registry)
        let page = try PrometheusReader(registry.render())
        let descriptors = try #require(page.value("process_open_fds"))
        #expect(try #require(page.value("process_resident_memory_bytes")) > 1_000_000)
        #expect(descriptors >= 3)
        #expect(try #require(page.value("process_max_fds")) >= descriptors)
        #expect(try #require(page.value("process_cpu_seconds_total")) > 0)
        #expect(try #require(page.value("carillon_uptime_seconds")) >= 0)
        #expect(try #require(page.value("process_start_time_seconds")) > 1_700_000_000)
    }
}

@Suite struct HistogramBucketsTests {
    @Test("The bucket index agrees with a linear search") func indexAgreesWithASearchFromTheFront() {
        let buckets = HistogramBuckets([-5, 0, 1, 2, 3, 10, 100].map { .nanoseconds($0) })
        for value in Int64(-10)...120 {
            let expected = buckets.bounds.firstIndex { value <= $0 } ?? buckets.bounds.count
            #expect(buckets.index(of: value) == expected)
        }
    }

    @Test("Bounds are validated") func boundsAreChecked() async {
        await #expect(processExitsWith: .failure) { _ = HistogramBuckets([.seconds(1), .seconds(1)]) }
        await #expect(processExitsWith: .failure) { _ = HistogramBuckets([]) }
    }
}
