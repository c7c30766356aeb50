/// The naming rules of Prometheus, and the stricter rules of this project.
enum MetricNames {
    /// Returns what is wrong with the names of a metric, or nil if they are valid.
    static func fault(name: String, kind: MetricsRegistry.Kind, labels: MetricLabels) -> String? {
        guard isName(name, colons: true) else {
            return "a name consists of letters, digits, _ and :, and does not begin with a digit"
        }
        if kind == .counter, !name.hasSuffix("_total") { return "the name of a counter must end in _total" }
        if kind != .counter, name.hasSuffix("_total") { return "only the name of a counter may end in _total" }
        for label in labels.names {
            guard isName(label, colons: false), !label.hasPrefix("__") else {
                return "label \"\(label)\": use letters, digits and _; do not begin with a digit or with __"
            }
            if kind == .histogram, label == "le" { return "label \"le\" is reserved for the buckets of a histogram" }
        }
        if Set(labels.names).count != labels.names.count { return "duplicate label names: \(labels.names)" }
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
