import PushText

/// The text of `Config/carillon.json5`: every setting with its documentation, in an example that can be parsed.
///
/// The comments come from the tables of settings, and so do the values of settings that have a default.
package struct ConfigurationReference {
    private static let width = 80

    /// A setting of the example.
    private struct Item {
        let path: [String]
        let literal: String
        /// The documentation; nil if an earlier item has it.
        let comment: String?
    }

    private var items: [Item] = []
    private var documented: Set<[String]> = []
    private var output = ""

    /// The whole text of the file.
    package static let text: String = {
        var reference = Self()
        let example = ConfigurationExample()
        reference.add(ConfigurationDraft.settings, of: example.draft)
        for (name, client) in example.clients {
            reference.add(
                ClientDraft.settings, of: client, default: ClientDraft(), path: ["security", "clients", name],
                pattern: ["security", "clients", "*"])
        }
        for app in example.apps {
            reference.add(
                AppDraft.settings, of: app.draft, default: AppDraft(), path: ["apps", app.name], pattern: ["apps", "*"])
        }
        for (name, family) in example.families {
            reference.add(FamilyDraft.settings(named: name), of: family, path: ["families"], pattern: ["families"])
        }
        for (name, webhook) in example.webhooks {
            reference.add(
                WebhookDraft.settings, of: webhook, path: ["webhooks", name], pattern: ["webhooks", "*"])
        }
        reference.output = ConfigurationExample.introduction
        reference.documented = []
        let comments = Dictionary(uniqueKeysWithValues: example.apps.map { (["apps", $0.name], $0.comment) })
        reference.write(reference.items[...], depth: 0, comments: comments)
        return reference.output
    }()

    /// Adds the settings of an owner that have a value. A setting with its default is left out if an earlier owner has
    /// it already.
    private mutating func add<Owner>(
        _ settings: [Setting<Owner>], of owner: Owner, default usual: Owner? = nil, path: [String] = [],
        pattern: [String] = []
    ) {
        for setting in settings {
            guard let literal = setting.literal(owner) else { continue }
            let isFirst = documented.insert(pattern + setting.path).inserted
            guard isFirst || literal != usual.flatMap({ setting.literal($0) }) else { continue }
            items.append(
                Item(
                    path: path + setting.path, literal: literal,
                    comment: isFirst ? Self.comment(on: setting) : nil))
        }
    }

    private static func comment<Owner>(on setting: Setting<Owner>) -> String {
        let bounds = setting.bounds.map { " From \($0)." } ?? ""
        return "\(setting.documentation)\(bounds) \(setting.reload.mark)"
    }

    /// Writes an object with these items, whose paths are equal up to `depth`.
    private mutating func write(_ items: ArraySlice<Item>, depth: Int, comments: [[String]: String]) {
        let indent = depth * 2
        output += "{\n"
        var rest = items
        while let first = rest.first {
            let path = first.path.prefix(depth + 1)
            let group = rest.prefix { $0.path.starts(with: path) }
            rest = rest.dropFirst(group.count)
            let isSpaced = depth == 0 || path.count == 2 && path.first == "apps"
            if isSpaced, group.startIndex != items.startIndex { output += "\n" }
            let key = first.path[depth]
            if first.path.count == depth + 1 {
                putComment(first.comment, indent: indent + 2)
                put("\(key): \(first.literal),\n", after: indent + 2)
                continue
            }
            putComment(comments[Array(path)] ?? blockComment(path), indent: indent + 2)
            put("\(key): ", after: indent + 2)
            write(group, depth: depth + 1, comments: comments)
        }
        put(depth == 0 ? "}\n" : "},\n", after: indent)
    }

    /// Returns the comment of the object at this path, the first time that an object of its kind is written.
    private mutating func blockComment(_ path: ArraySlice<String>) -> String? {
        guard let block = SettingBlock.all.first(where: { $0.matches(path) }), !block.documentation.isEmpty,
            documented.insert(block.path).inserted
        else { return nil }
        return block.documentation
    }

    private mutating func putComment(_ text: String?, indent: Int) {
        guard let text else { return }
        for line in WrappedText.lines(text, width: Self.width - indent - 3) { put("// \(line)\n", after: indent) }
    }

    private mutating func put(_ text: String, after indent: Int) {
        output += String(repeating: " ", count: indent) + text
    }
}
