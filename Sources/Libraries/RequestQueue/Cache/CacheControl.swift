/// The directives of `Cache-Control` (RFC 9111, section 5.2, and RFC 5861). Unknown ones are ignored.
struct CacheControl: Sendable, Equatable {
    var maxAge: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?
    var maxStale: Int64?
    var minFresh: Int64?
    var noStore = false
    var noCache = false
    var mustRevalidate = false
    var onlyIfCached = false

    init(_ value: String?) {
        for directive in Self.directives(value ?? "") {
            switch directive.name {
            // Of two values, the smaller one holds. A value that is not a number means that the response is stale.
            case "max-age": maxAge = min(maxAge ?? .max, Self.seconds(directive.argument) ?? 0)
            case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(directive.argument)
            case "stale-if-error": staleIfError = Self.seconds(directive.argument)
            case "max-stale": maxStale = directive.argument == nil ? .max : Self.seconds(directive.argument)
            case "min-fresh": minFresh = Self.seconds(directive.argument)
            case "no-store": noStore = true
            // With names of fields, it concerns only these; to validate the whole response is on the safe side.
            case "no-cache": noCache = true
            case "must-revalidate": mustRevalidate = true
            case "only-if-cached": onlyIfCached = true
            default: break
            }
        }
    }

    /// Returns the seconds of a directive or of `Age`; nil if the text is not a number. Large numbers are 2^31, as the
    /// RFC demands.
    static func seconds(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 31)
    }

    private static func directives(_ value: String) -> [(name: String, argument: String?)] {
        split(value, at: 0x2c).compactMap { text in
            let halves = split(text, at: 0x3d, maxSplits: 1)
            guard let name = halves.first.map(trimmed), !name.isEmpty else { return nil }
            let argument = halves.count > 1 ? trimmed(halves[1]) : nil
            return (name.lowercased(), argument.map { $0.filter { $0 != "\"" } })
        }
    }

    /// Splits at a character outside of quotes.
    static func split(_ text: String, at separator: UInt8, maxSplits: Int = .max) -> [String] {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in text.utf8 {
            if byte == 0x22 { isQuoted.toggle() }
            if byte == separator && !isQuoted && parts.count <= maxSplits {
                parts.append([])
            } else {
                parts[parts.count - 1].append(byte)
            }
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
