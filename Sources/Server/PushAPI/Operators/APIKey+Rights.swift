import PushModel

extension APIKey {
    /// What the key may do, for the events of operators.
    var rights: String {
        var parts = [roles.description]
        parts.append(apps.map { "apps " + $0.map(\.name).joined(separator: " ") } ?? "all apps")
        if !from.isEmpty { parts.append("from " + from.map(\.description).joined(separator: " ")) }
        if allowsBearer { parts.append("bearer") }
        if let expiresAt { parts.append("until \(expiresAt.milliseconds)") }
        return parts.joined(separator: "; ")
    }
}
