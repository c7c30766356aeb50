import JSON5
import PushText
import PushTransport

/// Methods that read settings by type. They return nil for an absent or wrong value, and report a wrong one as a fault.
extension ConfigurationSection {
    func text(_ key: String) -> String? {
        switch find(key) {
        case nil: return nil
        case .words(let words): return words
        case .tree(let tree):
            guard let text = tree.string, !text.isEmpty else {
                let kind = tree.string == nil ? tree.kind : "an empty string"
                fault(key, "this must be text in quotes, not \(kind)")
                return nil
            }
            return text
        }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        let number: Int?
        let shown: String
        switch find(key) {
        case nil: return nil
        case .words(let words): (number, shown) = (Int(words), "\"\(words)\"")
        case .tree(let tree):
            number = tree.integer.map(Int.init)
            shown = number.map { "\($0)" } ?? (tree.number.map { "\($0)" } ?? tree.kind)
        }
        guard let number, range.contains(number) else {
            fault(key, "this must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(shown)")
            return nil
        }
        return number
    }

    func port(_ key: String) -> UInt16? { integer(key, in: 1...65_535).map { UInt16($0) } }

    func boolean(_ key: String) -> Bool? {
        switch find(key) {
        case nil: return nil
        case .words("true"): return true
        case .words("false"): return false
        case .words(let words): fault(key, "this must be true or false, not \"\(words)\"")
        case .tree(let tree):
            if let flag = tree.boolean { return flag }
            fault(key, "this must be true or false, not \(tree.kind)")
        }
        return nil
    }

    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, of type: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        choice(key, among: Choice.allCases.map(\.rawValue)).flatMap { Choice(rawValue: $0) }
    }

    func choice(_ key: String, among words: [String]) -> String? {
        guard let text = text(key) else { return nil }
        if words.contains(text) { return text }
        let nearest = NearestWord.to(text, in: words).map { "; did you mean \"\($0)\"?" } ?? ""
        fault(key, "\"\(text)\" is not one of \(words.joined(separator: ", "))\(nearest)")
        return nil
    }

    func texts(_ key: String) -> [String]? {
        switch find(key) {
        case nil: return nil
        case .words(let words):
            return words.split(separator: ",").map { String($0.drop { $0 == " " }) }
        case .tree(let tree):
            guard let elements = tree.elements, elements.allSatisfy({ $0.string != nil }) else {
                fault(
                    key,
                    "this must be a list of strings, [\"…\", \"…\"], not \(tree.elements == nil ? tree.kind : "this")")
                return nil
            }
            return elements.compactMap(\.string)
        }
    }

    // MARK: Amounts

    func duration(_ key: String, in range: ClosedRange<Duration>) -> Duration? {
        guard let shown = amount(key, "a duration is text with its unit: \"250ms\", \"5s\", \"10m\", \"2h\" or \"7d\"")
        else { return nil }
        guard let duration = DurationText.read(shown) else {
            fault(key, "\"\(shown)\" is not a duration; write \"250ms\", \"5s\", \"10m\", \"2h\" or \"7d\"")
            return nil
        }
        guard range.contains(duration) else {
            fault(
                key,
                "\"\(shown)\" is out of range; it must be from \(DurationText.write(range.lowerBound)) to "
                    + "\(DurationText.write(range.upperBound))")
            return nil
        }
        return duration
    }

    func byteCount(_ key: String, in range: ClosedRange<ByteCount>) -> ByteCount? {
        guard let shown = amount(key, "a size is text with its unit: \"512KiB\", \"64MiB\" or \"1GiB\"") else {
            return nil
        }
        guard let size = ByteCount(text: shown) else {
            fault(key, "\"\(shown)\" is not a size; write \"512KiB\", \"64MiB\" or \"1GiB\"")
            return nil
        }
        guard range.contains(size) else {
            fault(key, "\"\(shown)\" is out of range; it must be from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return size
    }

    private func amount(_ key: String, _ rule: String) -> String? {
        switch find(key) {
        case nil: return nil
        case .words(let words): return words
        case .tree(let tree):
            guard let text = tree.string else {
                fault(key, "\(rule), not \(tree.kind)")
                return nil
            }
            return text
        }
    }

    // MARK: Paths and addresses

    /// Returns a path. A path in the file is relative to the file's directory; a path in a flag or a variable is
    /// relative to the working directory.
    func path(_ key: String) -> String? {
        guard let text = text(key) else { return nil }
        if text == "~" || text.hasPrefix("~/") {
            fault(key, "\"~\" is not expanded here; write the whole path")
            return nil
        }
        return resolved(text, key)
    }

    private func resolved(_ text: String, _ key: String) -> String {
        guard case .file(let file, _) = place(of: key) else { return text }
        return FilePlace.resolve(text, besideFile: file)
    }

    func bind(_ key: String) -> Bind? {
        guard let text = text(key) else { return nil }
        if text == "off" { return .off }
        if text.hasPrefix("ipc://"), text.utf8.count > 6 {
            let path = String(text.dropFirst(6))
            guard !path.hasPrefix("@"), !path.hasPrefix("*") else {
                fault(
                    key,
                    "\"\(text)\" does not name a file; without file permissions every user of this machine may connect; "
                        + "write a path, such as \"ipc:///run/carillon/intake\"")
                return nil
            }
            return .ipc(resolved(path, key))
        }
        if text.hasPrefix("tcp://"), let place = HostPort(String(text.dropFirst(6))) {
            if place.host == "localhost" { return .tcp(HostPort(host: "127.0.0.1", port: place.port)) }
            if place.host == "*" || SocketAddress(ip: place.host, port: 0) != nil { return .tcp(place) }
            fault(key, "\"\(place.host)\" is not an IP address; write one, such as 127.0.0.1, or * for all")
            return nil
        }
        fault(
            key,
            "\"\(text)\" is not an endpoint; write \"tcp://127.0.0.1:5560\", \"ipc:///run/carillon/intake\" or \"off\""
        )
        return nil
    }

    /// Returns a value of the form `host:port`, where the host is a name or an address.
    func hostPort(_ key: String) -> HostPort? {
        guard let text = text(key) else { return nil }
        guard let place = HostPort(text), place.port > 0 else {
            fault(key, "\"\(text)\" is not a host with a port; write \"example.com:443\"")
            return nil
        }
        return place
    }
}

enum FilePlace {
    /// Returns a path that is written in `file`, resolved against the directory of `file`.
    static func resolve(_ path: String, besideFile file: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var path = path[...]
        while path.hasPrefix("./") { path = path.dropFirst(2) }
        guard let slash = file.lastIndex(of: "/") else { return path.isEmpty ? "." : String(path) }
        return String(file[...slash] + path)
    }
}
