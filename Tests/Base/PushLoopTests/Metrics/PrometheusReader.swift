/// A strict parser of the text exposition format 0.0.4, written for the tests from the specification.
struct PrometheusReader {
    struct Sample: Equatable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    struct Metric: Equatable {
        var help = ""
        var type = ""
        var samples: [Sample] = []
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var metrics: [String: Metric] = [:]
    private var current = ""

    init(_ text: String) throws {
        guard text.isEmpty || text.hasSuffix("\n") else { throw Fault(description: "the last line has no newline") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            do {
                try read(String(line))
            } catch let fault as Fault {
                throw Fault(description: "\(fault): \(line)")
            }
        }
        for (name, metric) in metrics where metric.type == "histogram" { try checkHistogram(metric, named: name) }
    }

    func value(_ name: String, labels: [String: String] = [:]) -> Double? {
        for metric in metrics.values {
            if let sample = metric.samples.first(where: { $0.name == name && $0.labels == labels }) {
                return sample.value
            }
        }
        return nil
    }

    private mutating func read(_ line: String) throws {
        if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)/) {
            current = String(match.1)
            guard metrics[current] == nil else { throw Fault(description: "duplicate HELP") }
            metrics[current] = Metric(help: try Self.unescaped(String(match.2), quotes: false))
        } else if let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)/) {
            guard match.1 == current, metrics[current]?.type == "" else {
                throw Fault(description: "TYPE does not follow its HELP")
            }
            metrics[current]?.type = String(match.2)
        } else {
            try readSample(line)
        }
    }

    private mutating func readSample(_ line: String) throws {
        let pattern = /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? ([^ ]+)/
        guard let match = line.wholeMatch(of: pattern) else { throw Fault(description: "not a comment or sample") }
        let name = String(match.1)
        let type = metrics[current]?.type
        let names = type == "histogram" ? ["_bucket", "_sum", "_count"].map { current + $0 } : [current]
        guard names.contains(name) else { throw Fault(description: "the sample belongs to another metric") }
        let labels = try Self.labels(match.3.map(String.init) ?? "")
        guard let value = Self.number(String(match.4)) else { throw Fault(description: "the value is not a number") }
        if metrics[current]?.samples.contains(where: { $0.name == name && $0.labels == labels }) == true {
            throw Fault(description: "duplicate series")
        }
        if type == "counter", value < 0 { throw Fault(description: "a counter is below zero") }
        metrics[current]?.samples.append(Sample(name: name, labels: labels, value: value))
    }

    private static func number(_ text: String) -> Double? {
        switch text {
        case "+Inf": .infinity
        case "-Inf": -.infinity
        case "NaN": .nan
        default: text.wholeMatch(of: /-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/) == nil ? nil : Double(text)
        }
    }

    private static func labels(_ text: String) throws -> [String: String] {
        var labels: [String: String] = [:]
        var rest = Substring(text)
        while !rest.isEmpty {
            guard let match = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)/) else {
                throw Fault(description: "malformed labels")
            }
            if labels.updateValue(try unescaped(String(match.2), quotes: true), forKey: String(match.1)) != nil {
                throw Fault(description: "duplicate label")
            }
            rest = rest[match.range.upperBound...]
            if match.3 == ",", rest.isEmpty { throw Fault(description: "trailing comma after the labels") }
        }
        return labels
    }

    private static func unescaped(_ text: String, quotes: Bool) throws -> String {
        var result = ""
        var escaped = false
        for character in text.unicodeScalars {
            if escaped {
                switch character {
                case "n": result += "\n"
                case "\\": result += "\\"
                case "\"" where quotes: result += "\""
                default: throw Fault(description: "invalid escape \\\(character)")
                }
                escaped = false
            } else if character == "\\" {
                escaped = true
            } else {
                result.unicodeScalars.append(character)
            }
        }
        if escaped { throw Fault(description: "incomplete escape at the end") }
        return result
    }

    /// Checks that the buckets are ascending and cumulative, and that the last one is +Inf and equals the count.
    private func checkHistogram(_ metric: Metric, named name: String) throws {
        let series = Dictionary(grouping: metric.samples) { $0.labels.filter { $0.key != "le" } }
        for (labels, samples) in series {
            let buckets = samples.filter { $0.name == name + "_bucket" }
            let bounds = buckets.map { Self.number($0.labels["le"] ?? "") }
            guard bounds.last == .some(.infinity), !bounds.contains(nil) else {
                throw Fault(description: "\(name)\(labels): the last bucket is not +Inf")
            }
            let pairs = zip(buckets, buckets.dropFirst())
            guard pairs.allSatisfy({ $0.value <= $1.value }),
                bounds.compactMap(\.self) == bounds.compactMap(\.self).sorted()
            else { throw Fault(description: "\(name)\(labels): buckets are not cumulative and ascending") }
            guard let count = samples.first(where: { $0.name == name + "_count" }), count.value == buckets.last?.value,
                samples.contains(where: { $0.name == name + "_sum" })
            else { throw Fault(description: "\(name)\(labels): count and sum are missing or wrong") }
        }
    }
}
