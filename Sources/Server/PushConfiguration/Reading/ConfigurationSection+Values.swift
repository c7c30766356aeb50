import JSON5
import PushText
import PushTransport

/// Methods that read settings by type. They return nil for an absent or wrong value, and report a wrong one as a fault.
extension ConfigurationSection {
    func text(_ key: String) -> String? {
        switch find(key) {
        case nil: return nil
        case .text(let given): return given
        case .tree(let tree):
            guard let text = tree.string, !text.isEmpty else {
                let kind = tree.string == nil ? tree.kind : "an empty string"
                report("this must be text in quotes, not \(kind)", at: key)
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
        case .text(let given): (number, shown) = (Int(given), "\"\(given)\"")
        case .tree(let tree):
            number = tree.integer.map(Int.init)
            shown = tree.number == nil ? tree.kind : tree.valueOrKind
        }
        guard let number, range.contains(number) else {
            report("this must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(shown)", at: key)
            return nil
        }
        return number
    }

    func port(_ key: String) -> UInt16? { integer(key, in: 1...65_535).map { UInt16($0) } }

    func boolean(_ key: String) -> Bool? {
        switch find(key) {
        case nil: return nil
        case .text("true"): return true
        case .text("false"): return false
        case .text(let given): report("this must be true or false, not \"\(given)\"", at: key)
        case .tree(let tree):
            if let flag = tree.boolean { return flag }
            report("this must be true or false, not \(tree.kind)", at: key)
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
        report(
            "\"\(text)\" is not one of \(words.joined(separator: ", "))\(nearest)", at: key)
        return nil
    }

    /// Returns a list of texts. Each wrong element is reported with its index.
    func texts(_ key: String) -> [String]? {
        switch find(key) {
        case nil: return nil
        case .text(let given):
            return given.split(separator: ",").map { String($0.drop { $0 == " " }) }
        case .tree(let tree):
            guard let elements = tree.elements else {
                report("this must be a list of strings, [\"…\", \"…\"], not \(tree.kind)", at: key)
                return nil
            }
            for (index, element) in elements.enumerated() where element.string == nil {
                report("this must be text in quotes, not \(element.valueOrKind)", at: key, element: index)
            }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    // MARK: Amounts

    func duration(_ key: String, in range: ClosedRange<Duration>) -> Duration? {
        guard
            let shown = amount(
                key, expecting: "a duration is text with its unit: \"250ms\", \"5s\", \"10m\", \"2h\" or \"7d\"")
        else { return nil }
        guard let duration = DurationText.read(shown) else {
            report("\"\(shown)\" is not a duration; write \"250ms\", \"5s\", \"10m\", \"2h\" or \"7d\"", at: key)
            return nil
        }
        guard range.contains(duration) else {
            report(
                "\"\(shown)\" is out of range; it must be from \(DurationText.write(range.lowerBound)) to "
                    + "\(DurationText.write(range.upperBound))", at: key)
            return nil
        }
        return duration
    }

    func byteCount(_ key: String, in range: ClosedRange<ByteCount>) -> ByteCount? {
        guard let shown = amount(key, expecting: "a size is text with its unit: \"512KiB\", \"64MiB\" or \"1GiB\"")
        else {
            return nil
        }
        guard let size = ByteCount(text: shown) else {
            report("\"\(shown)\" is not a size; write \"512KiB\", \"64MiB\" or \"1GiB\"", at: key)
            return nil
        }
        guard range.contains(size) else {
            report("\"\(shown)\" is out of range; it must be from \(range.lowerBound) to \(range.upperBound)", at: key)
            return nil
        }
        return size
    }

    private func amount(_ key: String, expecting rule: String) -> String? {
        switch find(key) {
        case nil: return nil
        case .text(let given): return given
        case .tree(let tree):
            guard let text = tree.string else {
                report("\(rule), not \(tree.kind)", at: key)
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
            report("\"~\" is not expanded here; write the whole path", at: key)
            return nil
        }
        return resolved(text, of: key)
    }

    private func resolved(_ text: String, of key: String) -> String {
        guard case .file(let file, _) = origin(of: key) else { return text }
        return FilePath.resolve(text, besideFile: file)
    }

    func bind(_ key: String) -> Bind? {
        guard let text = text(key) else { return nil }
        if text == "off" { return .off }
        if text.hasPrefix("ipc://"), text.utf8.count > 6 {
            let path = String(text.dropFirst(6))
            guard !path.hasPrefix("@"), !path.hasPrefix("*") else {
                report(
                    "\"\(text)\" does not name a file; without file permissions every user of this machine may connect; "
                        + "write a path, such as \"ipc:///run/carillon/intake\"", at: key)
                return nil
            }
            return .ipc(resolved(path, of: key))
        }
        if text.hasPrefix("tcp://"), let endpoint = HostPort(String(text.dropFirst(6))) {
            if endpoint.host == "localhost" { return .tcp(HostPort(host: "127.0.0.1", port: endpoint.port)) }
            if endpoint.host == "*" || SocketAddress(ip: endpoint.host, port: 0) != nil { return .tcp(endpoint) }
            report("\"\(endpoint.host)\" is not an IP address; write one, such as 127.0.0.1, or * for all", at: key)
            return nil
        }
        report(
            "\"\(text)\" is not an endpoint; write \"tcp://127.0.0.1:5560\", \"ipc:///run/carillon/intake\" or \"off\"",
            at: key)
        return nil
    }

    /// Returns a value of the form `host:port`, where the host is a name or an address.
    func hostPort(_ key: String) -> HostPort? {
        guard let text = text(key) else { return nil }
        guard let endpoint = HostPort(text), endpoint.port > 0 else {
            report("\"\(text)\" is not a host with a port; write \"example.com:443\"", at: key)
            return nil
        }
        return endpoint
    }
}

extension JSONTree {
    /// The value of a number or boolean, or else the kind of the value, for messages.
    fileprivate var valueOrKind: String {
        integer.map { "\($0)" } ?? number.map { "\($0)" } ?? boolean.map { "\($0)" } ?? kind
    }
}
