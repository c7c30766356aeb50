/// What Prometheus allows as a name, and what this house asks for beyond it.
enum MetricNames {
    /// What is wrong with a metric's names; nil if nothing is.
    static func fault(name: String, kind: MetricsRegistry.Kind, labels: MetricLabels) -> String? {
        guard isName(name, colons: true) else {
            return "a name has letters, digits, _ and :, and does not begin with a digit"
        }
        if kind == .counter, !name.hasSuffix("_total") { return "the name of a counter ends in _total" }
        if kind != .counter, name.hasSuffix("_total") { return "only the name of a counter ends in _total" }
        for label in labels.names {
            guard isName(label, colons: false), !label.hasPrefix("__") else {
                return "label \"\(label)\": letters, digits and _, no digit first, not two _ first"
            }
            if kind == .histogram, label == "le" { return "label \"le\" belongs to the buckets of a histogram" }
        }
        if Set(labels.names).count != labels.names.count { return "a label is named twice: \(labels.names)" }
        return nil
    }

    private static func isName(_ text: String, colons: Bool) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            case UInt8(ascii: ":"): colons
            default: false
            }
        }
    }
}
