import PushText

/// The paths of a part of the control port with their methods, for the errors about unknown ones.
struct ControlPaths {
    let paths: [(path: String, methods: [String])]
    /// The path that lists them all.
    let index: String

    /// Throws if there is no such path, or if it does not have the method of the request.
    ///
    /// - Parameter path: The path of the request as it is in ``paths``.
    func check(_ request: ControlRequest, at path: String) throws(ControlError) {
        guard let known = paths.first(where: { $0.path == path }) else {
            let nearest = NearestWord.to(path, in: paths.map(\.path))
            throw ControlError(
                "unknown path \(request.path)", status: 404,
                advice: nearest.map { "did you mean \($0)?" } ?? "GET \(index) lists the known paths")
        }
        guard known.methods.contains(request.method) else {
            throw ControlError(
                "method \(request.method) is not allowed for \(path)", status: 405,
                advice: "use \(known.methods.joined(separator: ", "))")
        }
    }
}
