/// A static file of the console. It holds no data of this Carillon.
struct ConsoleFile: Sendable {
    let name: String
    let text: String

    /// The media type of the file. Browsers do not guess another one.
    var mediaType: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }
}
